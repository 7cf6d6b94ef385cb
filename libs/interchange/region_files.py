"""FleetSnapshot -> the files of the region folder."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from libs.domain.fleet import FREE, FleetSnapshot, Indices, Names
from libs.interchange.atomic import replacing
from libs.interchange.policy import dump_policy
from libs.interchange.region import Region


def region_of(snapshot: FleetSnapshot) -> Region:
    """A snapshot that no file names deleted reservations for: they are called `deleted`."""
    servers = snapshot.servers
    taken = set(snapshot.reservations.name.tolist())
    label = "deleted"
    while label in taken:
        label += "_"
    current, target = np.full(len(servers), None, object), np.full(len(servers), None, object)
    current[servers.current < FREE], target[servers.target < FREE] = label, label
    return Region(snapshot=snapshot, deleted_current=current, deleted_target=target)


def dump_region(region: Region) -> dict[str, bytes]:
    """The content of each file. The `target` column is written where targets differ from the current bindings."""
    s, q = region.snapshot.servers, region.snapshot.reservations
    topology = region.snapshot.topology
    msb, types = region.snapshot.server_msb, region.snapshot.hardware_types
    servers = {
        "server": _strings(s.name),
        "datacenter": _strings(topology.datacenters[topology.msb_datacenter[msb]]),
        "msb": _strings(topology.msbs[msb]),
        "rack": _strings(topology.racks[s.rack]),
        "hardware_type": _strings(types[s.hardware_type]),
        "reservation": _strings(_named(s.current, q.name, region.deleted_current)),
        "in_use": s.in_use,
        "available": s.available,
    }
    if not np.array_equal(s.current, s.target) or not np.array_equal(region.deleted_current, region.deleted_target):
        servers["target"] = _strings(_named(s.target, q.name, region.deleted_target))
    if region.host_profile is not None:
        servers["host_profile"] = _strings(region.host_profile)
    reservations = {
        "reservation": _strings(q.name),
        "capacity_rru": q.capacity_rru,
        "survives_msb_loss": q.survives_msb_loss,
        "msb_spread_limit": pa.array(q.msb_spread_limit, mask=np.isinf(q.msb_spread_limit)),
        "rack_spread_limit": pa.array(q.rack_spread_limit, mask=np.isinf(q.rack_spread_limit)),
    }
    reservations |= {k: _strings(v) for k, v in (("kind", region.kind), ("owner", region.owner)) if v is not None}
    r, t = np.nonzero(q.rru > 0)
    rru = {"reservation": _strings(q.name[r]), "hardware_type": _strings(types[t]), "rru": q.rru[r, t]}
    r, d = np.nonzero(~np.isnan(q.affinity_share))
    affinity = {
        "reservation": _strings(q.name[r]),
        "datacenter": _strings(topology.datacenters[d]),
        "share": q.affinity_share[r, d],
    }
    return {
        "servers.parquet": _parquet(servers),
        "reservations.parquet": _parquet(reservations),
        "rru.parquet": _parquet(rru),
        "affinity.parquet": _parquet(affinity),
        "policy.json": dump_policy(region.snapshot.policy),
    }


def save_region(region: Region, folder: str | os.PathLike[str]) -> None:
    """Write the files into a folder, each atomically."""
    for name, content in dump_region(region).items():
        with replacing(Path(folder) / name) as stream:
            stream.write(content)


def _named(binding: Indices, names: Names, deleted: Names) -> Names:
    named = np.array(deleted, object)
    bound = binding >= 0
    named[bound] = names[binding[bound]]
    return named


def _strings(names: Names) -> pa.Array:
    return pa.array(names, pa.string())


def _parquet(columns: dict[str, object]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream, compression="zstd")
    return stream.getvalue()
