"""`bench imports`: read lists of servers, compare them with a region, and confirm."""

from __future__ import annotations

import argparse
import io
import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from libs.domain.inventory import Inventory
from libs.domain.inventory_diff import ImportMode, diff_inventory
from libs.interchange.inventory.inventory import dump_inventory, load_inventory, region_of
from libs.interchange.inventory.kubernetes_nodes import load_nodes
from libs.interchange.inventory.servers_csv import load_csv
from libs.store.fleet.import_confirm import confirm_import
from libs.store.fleet.imports import propose_import
from libs.store.fleet.inventory_snapshot import load_known_servers
from libs.store.platform.database import Database
from libs.store.platform.migrate import migrate
from libs.store.regions.region_import import import_region
from services.standalone.postgres import running_postgres

RACK, MSB_RACKS = 40, 25


def bench_imports(argv: list[str]) -> dict[str, object]:
    """Return the seconds of each step, once; for reading files, processor seconds.

    The region has the first 90 % of all servers. The list lacks the first 5 % of all servers, which are free and so
    retire. The list has another type for the next 5 %. The last 10 % in the list are new.
    """
    parser = argparse.ArgumentParser(prog="bench imports")
    parser.add_argument("--servers", type=int, default=100_000)
    servers = parser.parse_args(argv).servers
    taken: dict[str, float] = {}

    @contextmanager
    def timed(name: str, clock: Callable[[], float] = time.perf_counter) -> Iterator[None]:
        began = clock()
        yield
        taken[name] = round(clock() - began, 3)

    csv, nodes = _csv(range(servers), 0), _nodes(servers)
    with timed("csv_cpu_s", time.process_time):
        _read_csv(csv)
    with timed("nodes_cpu_s", time.process_time):
        load_nodes(io.BytesIO(nodes), "nodes.json")
    first = _read_csv(_csv(range(servers * 9 // 10), 0))
    then = dump_inventory(_read_csv(_csv(range(servers // 20, servers), servers // 10)))
    now = datetime.now(UTC)
    with tempfile.TemporaryDirectory() as home, running_postgres(Path(home)) as url:
        migrate(url)
        database = Database(url)
        with timed("import_new_s"), database.write() as tx:
            import_region(tx, region_of(first, "bench"), actor="bench", now=now)
        with timed("compare_s"):
            inventory = load_inventory({"servers.parquet": then})
            with database.snapshot() as tx:
                known = load_known_servers(tx, "bench")
            items = diff_inventory(known, inventory, ImportMode.PRUNE)
        with timed("propose_s"), database.write() as tx:
            found = propose_import(
                tx, "bench", known, inventory, items, mode=ImportMode.PRUNE, proposed_by="bench", now=now
            )
        with timed("confirm_s"), database.write() as tx:
            confirm_import(tx, "bench", found.import_id, actor="bench", now=now)
        database.close()
    peak_mib = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return {"servers": servers, "nodes_mib": len(nodes) >> 20, "counts": found.counts, **taken, "peak_mib": peak_mib}


def _read_csv(content: bytes) -> Inventory:
    return load_csv(io.BytesIO(content), "servers.csv")


def _place(server: int) -> tuple[str, str, str]:
    rack = server // RACK
    msb = rack // MSB_RACKS
    return f"dc-{msb // 20:02d}", f"msb-{msb:03d}", f"rack-{rack:05d}"


def _csv(servers: range, other_type_below: int) -> bytes:
    lines = ["server,datacenter,msb,rack,hardware_type,vcpu,memory_gib"]
    for server in servers:
        datacenter, msb, rack = _place(server)
        kind = "hw-new" if server < other_type_below else f"hw-{server // RACK % 9:02d}"
        lines.append(f"s{server:07d},{datacenter},{msb},{rack},{kind},96,384")
    return "\n".join(lines).encode()


def _nodes(servers: int) -> bytes:
    items = []
    for server in range(servers):
        _, msb, rack = _place(server)
        labels = {
            "topology.kubernetes.io/zone": msb,
            "topology.kubernetes.io/rack": rack,
            "node.kubernetes.io/instance-type": f"hw-{server // RACK % 9:02d}",
            "kubernetes.io/hostname": f"s{server:07d}",
        }
        status = {
            "capacity": {"cpu": "96", "memory": "395871236Ki", "pods": "110"},
            "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}],
        }
        metadata = {"name": f"s{server:07d}", "labels": labels, "annotations": {"note": "x" * 400}}
        items.append({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": status})
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
