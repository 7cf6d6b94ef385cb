"""A stored region whose reservations survive the loss of further kinds of domain, and a judge that loses each."""

import json
from collections.abc import Collection, Mapping

import numpy as np
import sqlalchemy as sa

from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.reservation import ReservationSpec
from libs.store.fleet.regions import load_region
from libs.store.fleet.resources import add_asked
from libs.store.platform.database import Database
from tests.builders.region import region_image
from tests.builders.stored import read, stored

KINDS = ("network_block", "power_row")


def stored_with_kinds(database: Database, rng: np.random.Generator) -> FleetSnapshot:
    """Store a random region "west" of two further kinds: some servers have no place, some are down or free."""
    servers = [f"server-{s:02}" for s in range(24)]
    names = [f"r{r}" for r in range(3)]
    specs = {
        name: ReservationSpec(
            capacity_rru=float(rng.integers(1, 7)),
            rru={"hw-a": 1.0, "hw-b": float(rng.choice([0.5, 2.0]))},
            survives_msb_loss=bool(rng.random() < 0.7),
        )
        for name in names
    }
    domains: dict[str, Mapping[str, str]] = {
        kind: {s: f"{kind}-{rng.integers(3)}" for s in servers if rng.random() < 0.9} for kind in KINDS
    }
    bound = [{s: str(rng.choice(names)) for s in servers if rng.random() < 0.8} for _ in range(2)]
    stays = {s for s in servers if rng.random() < 0.5}
    target = {s: r for s, r in bound[1].items() if s not in stays} | {s: r for s, r in bound[0].items() if s in stays}
    image = region_image(
        msbs=3,
        racks_per_msb=2,
        servers_per_rack=4,
        hardware_types=("hw-a", "hw-b"),
        reservations=specs,
        current=bound[0],
        target=target,
        down={s for s in servers if rng.random() < 0.08},
        domains=domains,
    )
    stored(database, image)
    for name in names:
        survive(database, name, [kind for kind in KINDS if rng.random() < 0.6])
    return read(database)


def stored_with_resources(database: Database, rng: np.random.Generator) -> FleetSnapshot:
    """Store such a region, whose reservations ask for some of two resources."""
    before = stored_with_kinds(database, rng)
    with database.write() as tx:
        region_id = load_region(tx, before.region).region_id
        for name in before.hardware_types:
            said = {"cores": int(rng.integers(0, 5)), "memory_gib": float(rng.integers(1, 9)), "maker": "no number"}
            values = {"name": str(name), "said": json.dumps(said)}
            tx.execute(sa.text("UPDATE hardware_types SET attributes = :said WHERE name = :name"), values)
        for r, row in enumerate(before.reservations.id.tolist()):
            asked = {"cores": float(rng.integers(1, 12)), "memory_gib": 7.5}
            add_asked(tx, region_id, row, {name: asked[name] for name in asked if r == 0 or rng.random() < 0.6})
    after = read(database)
    assert after.reservations.asks_resources[0]
    return after


def survive(database: Database, reservation: str, kinds: Collection[str]) -> None:
    """Let a reservation survive the loss of these kinds."""
    query = sa.text("UPDATE reservations SET survives_loss_of = :kinds WHERE name = :name")
    with database.write() as tx:
        tx.execute(query, {"kinds": sorted(kinds), "name": reservation})


def left_rru(snapshot: FleetSnapshot, r: int, rows: Collection[int]) -> float:
    """Return the RRU of reservation `r` on the servers `rows` after the worst loss that it survives, one by one."""
    servers, q = snapshot.servers, snapshot.reservations
    places = [snapshot.server_msb] if q.survives_msb_loss[r] else []
    places += [servers.domain[:, k] for k in np.flatnonzero(q.survives_loss_of[r])]

    def total(kept: Collection[int]) -> float:
        return float(sum(q.rru[r, servers.hardware_type[s]] for s in kept))

    lost = [(of, of[s]) for of in places for s in rows]
    return min([total(rows), *(total([s for s in rows if of[s] != domain]) for of, domain in lost)])


def missing_rru(snapshot: FleetSnapshot, target: np.ndarray) -> list[float]:
    """Return what each reservation lacks with these targets."""
    assert set(target.tolist()) <= {FREE, *range(len(snapshot.reservations))}
    up = snapshot.servers.lasting
    return [
        max(0.0, float(capacity) - left_rru(snapshot, r, np.flatnonzero((target == r) & up).tolist()))
        for r, capacity in enumerate(snapshot.reservations.capacity_rru)
    ]
