from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from libs.domain.fleet import FleetSnapshot
from libs.domain.region_summary import HardwareTypeSummary, RegionSummary
from libs.domain.reservation import Coverage, ReservationSpec
from libs.domain.retirement import RetirementKind, RetirementScope
from libs.domain.unavailability import Unavailability, UnavailabilityScope
from libs.ras.evaluate import coverage_of, evaluate
from libs.store.capacity.coverage import WAYS, load_coverage, load_coverages
from libs.store.capacity.reservation_lists import ReservationFilter, list_reservations
from libs.store.fleet.retirements import announce_retirement
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.fleet.unavailability_events import open_event
from libs.store.platform.database import Database
from libs.store.regions.region_summary import load_region_summary
from libs.store.regions.server_counts import count_by_place
from tests.builders.region import region_image
from tests.builders.stored import NOW, reservation_id, stored
from tests.builders.survived import left_rru, stored_with_kinds, survive

SURVIVING = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0, "hw-b": 2.0})
PLAIN = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0}, survives_msb_loss=False)


@pytest.fixture
def snapshot(database: Database) -> FleetSnapshot:
    """Three MSBs of two racks (hw-a, hw-b) of two servers: 00 01 | 02 03 in msb-00, 04 05 | 06 07 in msb-01, ..."""
    image = region_image(
        msbs=3,
        racks_per_msb=2,
        servers_per_rack=2,
        hardware_types=("hw-a", "hw-b"),
        reservations={"web": SURVIVING, "batch": PLAIN, "empty": SURVIVING, "buffer": PLAIN},
        current={"server-00": "web", "server-01": "batch"},
        target={
            "server-00": "web",
            "server-02": "web",
            "server-04": "web",
            "server-06": "web",
            "server-08": "web",
            "server-07": "web",
            "server-01": "batch",
            "server-05": "batch",
            "server-03": "batch",  # batch is not eligible for this type
            "server-09": "buffer",
        },
        in_use={"server-00"},
        down={"server-07", "server-05", "server-11"},
        kind={"buffer": "shared_buffer"},
    )
    return stored(database, image)


def test_targets_and_current_bindings_cover_what_is_available(database: Database, snapshot: FleetSnapshot) -> None:
    ids = {name: reservation_id(snapshot, name) for name in ("web", "batch", "empty")}
    with database.snapshot() as tx:
        target = load_coverage(tx, list(ids.values()), "target")
        current = load_coverage(tx, [*ids.values(), 999], "current")
    nothing = {"worst_msb": None, "worst_msb_rru": 0.0, "total_rru": 0.0, "servers": 0, "unavailable_servers": 0}
    # web: 1 + 2 in msb-00, 1 + 2 in msb-01 with server-07 down, 1 in msb-02; without the worst, 4 remain.
    assert target == {
        ids["web"]: Coverage(
            servers=6,
            unavailable_servers=1,
            total_rru=7.0,
            worst_msb_rru=3.0,
            worst_msb="msb-00",
            shortfall_rru=0.0,
            lacking_msbs=1,
        ),
        ids["batch"]: Coverage(
            servers=3,
            unavailable_servers=1,
            total_rru=1.0,
            worst_msb_rru=1.0,
            worst_msb="msb-00",
            shortfall_rru=3.0,
            lacking_msbs=1,
            lost_msbs=1,
            survives_msb_loss=False,
        ),
        ids["empty"]: Coverage(**nothing, shortfall_rru=4.0),
    }
    assert current.keys() == set(ids.values())
    assert current[ids["web"]].shortfall_rru == 4.0
    assert current[ids["batch"]].total_rru == 1.0


def test_one_scan_counts_in_every_way(database: Database, snapshot: FleetSnapshot) -> None:
    """server-00 is in maintenance, so it counts as current and not as held."""
    report = {"reason": "test", "starts_at": NOW, "ends_at": None, "now": NOW, "kind": Unavailability.PLANNED}
    with database.write() as tx:
        open_event(tx, "west", scope=UnavailabilityScope.SERVER, scope_name="server-00", actor="olga", **report)
    ids = [reservation_id(snapshot, name) for name in ("web", "batch", "empty", "buffer")]
    with database.snapshot() as tx:
        for some in (ids, ids[:1], ids[1:3]):
            together = load_coverages(tx, some)
            assert together == {which: load_coverage(tx, some, which) for which in WAYS}
            assert together["held"] != together["current"] or ids[0] not in some
            assert together["target"] != together["current"]


def test_msbs_that_differ_by_rounding_alone_name_the_first_as_the_worst(database: Database) -> None:
    spec = ReservationSpec(capacity_rru=0.3, rru={"hw-a": 0.1, "hw-b": 0.3})
    assert 3 * 0.1 > 0.3
    bound = dict.fromkeys(("server-03", "server-06", "server-07", "server-08"), "web")
    image = region_image(
        msbs=2,
        racks_per_msb=2,
        servers_per_rack=3,
        hardware_types=("hw-a", "hw-b"),
        reservations={"web": spec},
        current=bound,
    )
    web = reservation_id(stored(database, image), "web")
    with database.snapshot() as tx:
        assert [load_coverages(tx, [web])[which][web].worst_msb for which in WAYS] == ["msb-00"] * 3


def test_planned_maintenance_counts(database: Database, snapshot: FleetSnapshot) -> None:
    web = reservation_id(snapshot, "web")
    with database.write() as tx:
        before = load_coverage(tx, [web], "target")[web]
        report = {"scope": UnavailabilityScope.MSB, "reason": "test", "starts_at": NOW, "ends_at": None, "now": NOW}
        open_event(tx, "west", scope_name="msb-00", kind=Unavailability.PLANNED, actor="olga", **report)
        assert load_coverage(tx, [web], "target")[web] == before
        open_event(tx, "west", scope_name="msb-00", kind=Unavailability.UNPLANNED, actor="olga", **report)
        lost = load_coverage(tx, [web], "target")[web]
    assert (lost.total_rru, lost.worst_msb, lost.shortfall_rru, lost.unavailable_servers) == (4.0, "msb-01", 3.0, 3)


def test_held_is_what_is_up_now_and_the_loss_of_one_msb_is_survived(database: Database) -> None:
    """2 RRU in each of three MSBs keep a promise of 4 through the maintenance of one MSB, and not of two."""
    spec = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0})
    servers = [f"server-{i:02d}" for i in range(6)]
    image = region_image(
        msbs=3, servers_per_rack=2, reservations={"web": spec}, current=dict.fromkeys(servers, "web"), target={}
    )
    web = reservation_id(stored(database, image), "web")
    report = {"reason": "test", "starts_at": NOW, "ends_at": None, "now": NOW}
    seen = []
    lost = [None, (UnavailabilityScope.SERVER, "server-00"), *((UnavailabilityScope.MSB, f"msb-0{i}") for i in (0, 1))]
    for scope in lost:
        with database.write() as tx:
            if scope is not None:
                report |= {"scope": scope[0]}
                open_event(tx, "west", scope_name=scope[1], kind=Unavailability.PLANNED, actor="olga", **report)
            held = load_coverage(tx, [web], "held")[web]
        seen.append((held.total_rru, held.total_rru - held.worst_msb_rru, held.lacking_msbs, held.keeps(4.0)))
    # One server that is down is no lost MSB: 5 are held, and 3 after the loss of another MSB.
    assert seen == [(6.0, 4.0, 0, True), (5.0, 3.0, 1, False), (4.0, 2.0, 1, True), (2.0, 0.0, 2, False)]


def test_sums_of_fractions_are_no_shortfall(database: Database) -> None:
    tenths = ReservationSpec(capacity_rru=0.3, rru={"hw-a": 0.1}, survives_msb_loss=False)
    bound = dict.fromkeys(("server-00", "server-01", "server-02"), "web")
    snapshot = stored(database, region_image(reservations={"web": tenths}, current=bound))
    web = reservation_id(snapshot, "web")
    with database.snapshot() as tx:
        assert load_coverage(tx, [web], "target")[web].shortfall_rru == 0


def test_status_and_solves_agree_on_what_is_short(database: Database, snapshot: FleetSnapshot) -> None:
    """web needs rack-00 of msb-00. Once that is announced for retirement, status and solve report the same lack."""
    with database.write() as tx:
        announce_retirement(
            tx,
            "west",
            scope=RetirementScope.RACK,
            scope_name="rack-00",
            kind=RetirementKind.DECOMMISSION,
            to_hardware_type=None,
            due_at=NOW + timedelta(days=9),
            back_at=None,
            reason="end of life",
            actor="olga",
            now=NOW,
        )
    with database.snapshot() as tx:
        fleet = load_fleet_snapshot(tx, "west")
        score = evaluate(fleet, fleet.servers.target)
        summary = load_region_summary(tx, "west")
        short = list_reservations(tx, ReservationFilter(region="west", short=True)).items
        whole = list_reservations(tx, ReservationFilter(region="west", short=False)).items
        rest = list_reservations(tx, ReservationFilter(region="west", short=True), after=short[0].reservation_id).items
        assert [one.name for one in rest] == [one.name for one in short[1:]]
        owned = list_reservations(tx, ReservationFilter(owner=short[0].owner, short=True)).items
        assert {one.name for one in owned} == {one.name for one in short if one.owner == short[0].owner}
        assert list_reservations(tx, ReservationFilter(region="east", short=True)).items == ()
        [web] = list_reservations(tx, ReservationFilter(region="west", name="web")).items
    covered = coverage_of(fleet, fleet.servers.target).shortfall
    assert summary.degraded == score.reservations_short == len(short)
    assert summary.shortfall_rru == pytest.approx(score.shortfall_rru)
    assert {one.name: one.target.shortfall_rru for one in short} == pytest.approx(
        {name: rru for name, rru in zip(fleet.reservations.name, covered, strict=True) if rru > 0}
    )
    assert [one.name for one in [*short, *whole] if one.target.shortfall_rru == 0] == [one.name for one in whole]
    assert web.target.total_rru == 6.0  # 7 before: server-00 must go, and is still there
    assert web.current.total_rru == 1.0


def test_an_operator_sees_a_region_in_a_few_numbers(database: Database, snapshot: FleetSnapshot) -> None:
    with database.snapshot() as tx:
        summary = load_region_summary(tx, "west")
        places = count_by_place(tx, "west")
        statuses = list_reservations(tx, ReservationFilter(region="west", short=True)).items
    lacks = sorted((-one.target.shortfall_rru, one.reservation_id, one.name) for one in statuses)
    assert [(-one.shortfall_rru, one.reservation_id, one.name) for one in summary.short] == lacks
    assert [(one.name, one.message) for one in summary.short[:1]] == [("empty", None)], "no solve has looked at it"
    assert replace(summary, short=()) == RegionSummary(
        hardware_types=(
            HardwareTypeSummary(
                hardware_type="hw-a",
                servers=6,
                bound=6,
                free=0,
                in_use=1,
                to_move=4,
                unavailable=1,
                in_maintenance=0,
            ),
            HardwareTypeSummary(
                hardware_type="hw-b",
                servers=6,
                bound=4,
                free=1,
                in_use=0,
                to_move=4,
                unavailable=2,
                in_maintenance=0,
            ),
        ),
        reservations=4,
        degraded=3,
        capacity_rru=16.0,
        domain_kinds=(),
        survived_kinds=("MSB",),
        embedded_buffer_rru=3.0,
        shared_buffer_rru=1.0,
        shortfall_rru=3.0 + 4.0 + 3.0,
        places=places,
        short=(),
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_worst_loss_of_each_kind_counts_by_definition(database: Database, seed: int) -> None:
    """Count what is left of the servers of a reservation after each loss, one by one."""
    snapshot = stored_with_kinds(database, np.random.default_rng(seed))
    q, servers = snapshot.reservations, snapshot.servers
    with database.snapshot() as tx:
        found = load_coverage(tx, q.id.tolist(), "target")
    for r, covered in enumerate(found[int(i)] for i in q.id):
        rows = np.flatnonzero((servers.target == r) & servers.lasting).tolist()
        assert covered.left_rru == pytest.approx(left_rru(snapshot, r, rows))
        assert covered.shortfall_rru == pytest.approx(max(0.0, q.capacity_rru[r] - left_rru(snapshot, r, rows)))
        kinds = [kind.name for kind, named in zip(snapshot.topology.kinds, q.survives_loss_of[r], strict=True) if named]
        assert [one.kind for one in covered.further] == (kinds if covered.servers else [])
        for one in covered.further:
            loss = next(loss for loss in snapshot.losses if loss.kind == one.kind)
            load = {str(name): 0.0 for name in loss.domains}
            for s in rows:
                load[str(loss.domains[loss.of[s]])] += q.rru[r, servers.hardware_type[s]]
            assert one.rru == max(load.values())
            assert one.domain is None if one.rru == 0 else load[one.domain] == one.rru


def test_the_loss_of_one_whole_block_keeps_the_promise_and_that_of_a_server_does_not(database: Database) -> None:
    """Each of three MSBs and of three blocks has 3 of 9 servers. Without any one of them 6 are left."""
    spec = ReservationSpec(capacity_rru=6, rru={"hw-a": 1.0})
    servers = [f"server-{i:02d}" for i in range(9)]
    image = region_image(
        msbs=3,
        servers_per_rack=3,
        reservations={"web": spec},
        current=dict.fromkeys(servers, "web"),
        domains={"network_block": {name: f"block-{i % 3}" for i, name in enumerate(servers)}},
    )
    web = reservation_id(stored(database, image), "web")
    survive(database, "web", ["network_block"])
    report = {"scope": UnavailabilityScope.SERVER, "reason": "test", "starts_at": NOW, "ends_at": None, "now": NOW}
    seen = []
    for lost in ([], servers[:1], servers[3::3], servers[1:2]):
        with database.write() as tx:
            for name in lost:
                open_event(tx, "west", scope_name=name, kind=Unavailability.UNPLANNED, actor="olga", **report)
            held = load_coverage(tx, [web], "held")[web]
        seen.append((held.total_rru, held.left_rru, held.keeps(6.0)))
    assert seen == [(9.0, 6.0, True), (8.0, 5.0, False), (6.0, 3.0, True), (5.0, 2.0, False)]
