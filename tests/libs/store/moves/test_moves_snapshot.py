"""The mover's guard knows the domains of servers, as they are in the database."""

import math
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
import sqlalchemy as sa

from libs.domain.fleet import FREE
from libs.domain.reservation import ReservationSpec
from libs.ras.waves.guard import Guard
from libs.store.fleet.loss_places import load_loss_places
from libs.store.moves.moves_snapshot import load_moves_snapshot
from libs.store.moves.spares import load_idle_servers
from libs.store.platform.database import Database
from tests.builders.granted import ask
from tests.builders.region import region_image
from tests.builders.stored import reservation_id, stored
from tests.builders.survived import KINDS, left_rru, stored_with_kinds, stored_with_resources, survive

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("seed", range(10))
def test_no_server_leaves_that_a_promise_needs_after_any_loss(database: Database, seed: int) -> None:
    fleet = stored_with_kinds(database, np.random.default_rng(seed))
    servers, q = fleet.servers, fleet.reservations
    with database.snapshot() as tx:
        found = load_moves_snapshot(tx, "west", moves_max=100, now=NOW)
    waiting, guard = found.waiting, Guard(found.holdings)
    assert len(waiting) > 0
    lacks = guard.lacks(waiting.current_id, waiting.place, waiting.leaves_rru)
    for n in range(len(waiting)):
        s = int(np.flatnonzero(servers.id == waiting.id[n])[0])
        r = int(servers.current[s])
        if r == FREE:
            continue
        there = np.flatnonzero((servers.current == r) & servers.available).tolist()
        before, after = (left_rru(fleet, r, rows) for rows in (there, [one for one in there if one != s]))
        holds = sum(q.rru[r, servers.hardware_type[one]] for one in there)
        whole = holds - q.rru[r, servers.hardware_type[s]] >= min(q.capacity_rru[r], holds) - 1e-9
        may = bool(whole and after >= min(q.capacity_rru[r], before) - 1e-9)
        assert guard.may_leave(int(waiting.current_id[n]), *waiting.worth(n)) == may
        assert (lacks[n] <= 0) == may


@pytest.mark.parametrize("seed", range(10))
def test_no_server_leaves_whose_resources_a_promise_needs(database: Database, seed: int) -> None:
    """By definition: each measure on its own, with the server and without it."""
    fleet = stored_with_resources(database, np.random.default_rng(seed))
    servers, q = fleet.servers, fleet.reservations
    with database.snapshot() as tx:
        found = load_moves_snapshot(tx, "west", moves_max=100, now=NOW)
    waiting, guard = found.waiting, Guard(found.holdings, found.resources)
    lacks = guard.lacks(waiting.current_id, waiting.place, waiting.leaves_rru)
    asked = 0
    for n in range(len(waiting)):
        s = int(np.flatnonzero(servers.id == waiting.id[n])[0])
        r, may = int(servers.current[s]), True
        if r == FREE:
            continue
        there = np.flatnonzero((servers.current == r) & servers.available).tolist()
        for rru, wanted in [
            (q.rru, q.capacity_rru[r]),
            *((amount * (q.rru > 0), w) for amount, w in zip(fleet.resources.amount, q.resources[r], strict=True)),
        ]:
            measure = replace(fleet, reservations=replace(q, rru=rru))
            left = [left_rru(measure, r, rows) for rows in (there, [one for one in there if one != s])]
            whole = [sum(rru[r, servers.hardware_type[one]] for one in there)]
            whole.append(whole[0] - rru[r, servers.hardware_type[s]])
            may &= bool(all(after >= min(wanted, before) - 1e-9 for before, after in (left, whole)))
            asked += wanted > 0
        assert guard.may_leave(int(waiting.current_id[n]), *waiting.worth(n)) == may
        assert (lacks[n] <= 0) == may
    assert asked > 0


def test_idle_servers_and_running_moves_have_their_domains(database: Database) -> None:
    fleet = stored_with_kinds(database, np.random.default_rng(3))
    survive(database, "r0", KINDS)
    with database.write() as tx:
        tx.execute(
            sa.text("""
                INSERT INTO moves (region_id, server_id, from_reservation_id, to_reservation_id, steps, status,
                                   step_started_at, created_at)
                SELECT region_id, server_id, current_reservation_id, target_reservation_id, '{preempt}', 'running',
                       now(), now()
                FROM servers WHERE current_reservation_id IS DISTINCT FROM target_reservation_id
                                   AND current_reservation_id IS NOT NULL ORDER BY server_id LIMIT 3""")
        )
    with database.snapshot() as tx:
        region_id = tx.execute(sa.text("SELECT region_id FROM regions")).scalar_one()
        places = load_loss_places(tx, region_id)
        idle = load_idle_servers(tx, region_id, places)
        running = load_moves_snapshot(tx, "west", moves_max=100, now=NOW).running
        names = dict(tx.execute(sa.text("SELECT domain_id, name FROM domains")).tuples().all())
    assert places.kinds == KINDS
    placed = [*zip(idle.id.tolist(), idle.place[:, 1:].tolist(), strict=True)]
    placed += [(move.server_id, list(move.place[1:])) for move in running]
    assert len(idle.id) > 0
    assert len(running) == 3
    for server_id, domains in placed:
        own = fleet.servers.domain[np.flatnonzero(fleet.servers.id == server_id)[0]]
        expected = [kind.domains[d] if d >= 0 else None for kind, d in zip(fleet.topology.kinds, own, strict=True)]
        assert [names.get(domain) for domain in domains] == expected


@pytest.mark.parametrize(
    ("requests", "granted_rru", "waits"),
    [
        ([("create", 2, "granted")], math.inf, False),
        ([("create", 2, "degraded")], 0.0, True),
        ([("create", 1, "granted"), ("resize", 2, "degraded")], 1.0, True),
    ],
)
def test_the_guard_knows_what_was_granted(
    database: Database, requests: list[tuple[str, float, str]], granted_rru: float, waits: bool
) -> None:
    spec = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)
    at = {"server-00": "web", "server-01": "web"}
    fleet = stored(database, region_image(reservations={"web": spec}, current=at, target={"server-00": "web"}))
    ask(database, requests)
    with database.snapshot() as tx:
        found = load_moves_snapshot(tx, "west", moves_max=100, now=NOW)
    web = reservation_id(fleet, "web")
    assert {one.reservation_id: one.granted_rru for one in found.holdings} == {web: granted_rru}
    assert found.ungranted == (frozenset({web}) if waits else frozenset())
