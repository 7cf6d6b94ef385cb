"""Every order of reservations agrees with Python's sort, over all pages."""

from collections.abc import Callable
from datetime import timedelta
from random import Random

import pytest

from libs.domain.finding import NewFinding
from libs.domain.readiness import readiness_of
from libs.domain.reservation import Reservation, ReservationSpec
from libs.domain.reservation_order import RESERVATION_ORDERS, ReservationKey, ReservationOrder, ReservationPlace
from libs.domain.reservation_phase import ReservationPhase
from libs.store.capacity.findings import record_findings
from libs.store.capacity.reservation_lists import ReservationFilter, list_ordered_reservations, list_reservations
from libs.store.capacity.reservations import create_reservation, delete_reservation
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Database
from tests.builders.region import region_image
from tests.builders.stored import NOW, stored
from tests.builders.survived import survive

COUNT = 24
PHASES = (ReservationPhase.GRANTED, ReservationPhase.DEGRADED)


def phase_of(one: Reservation) -> str:
    if one.deleted_at is not None:
        return "deleted"
    if one.scheduled:
        return "scheduled"
    return "pending" if one.finding is None else one.finding.phase


def ready_of(one: Reservation) -> str:
    promised = not one.scheduled and one.deleted_at is None
    capacity = one.spec.capacity_rru
    state = readiness_of(
        one.held, capacity_rru=capacity, granted_rru=capacity, is_promised=promised, generation=1, last=None
    )
    return state.status.value


KEYS: dict[ReservationKey, Callable[[Reservation], str | float]] = {
    ReservationKey.NAME: lambda one: one.name,
    ReservationKey.OWNER: lambda one: one.owner,
    ReservationKey.PHASE: phase_of,
    ReservationKey.CAPACITY_RRU: lambda one: one.spec.capacity_rru,
    ReservationKey.TARGET_RRU: lambda one: round(one.target.total_rru, 6),
    ReservationKey.HELD_RRU: lambda one: round(one.held.total_rru, 6),
    ReservationKey.HELD_AFTER_MSB_LOSS_RRU: lambda one: round(one.held.total_rru - one.held.worst_msb_rru, 6),
    ReservationKey.SHORTFALL_RRU: lambda one: round(one.target.shortfall_rru, 6),
    ReservationKey.READY: ready_of,
}


@pytest.fixture
def region(database: Database) -> Database:
    """Reservations with names in any case, many ties, sums that no float holds, lost MSBs, and all phases."""
    random = Random(7)
    servers = [f"server-{at:02}" for at in range(96)]
    names = [random.choice(("web", "Web", "wéb", "a:b", "_x")) + f"-{at % 7}-{at}" for at in range(COUNT)]
    bound = {server: random.choice(names) for server in servers if random.random() < 0.85}
    target = {server: random.choice(names) if random.random() < 0.2 else name for server, name in bound.items()}
    image = region_image(
        msbs=4,
        racks_per_msb=2,
        servers_per_rack=12,
        hardware_types=("hw-a", "hw-b"),
        reservations={
            name: ReservationSpec(
                capacity_rru=random.choice((0.3, 1.1, 2.2, 2.2, 3)),
                rru={"hw-a": random.choice((0.1, 0.7, 1.1)), "hw-b": 1.3},
                survives_msb_loss=random.random() < 0.6,
            )
            for name in names
        },
        owner={name: random.choice(("ads", "Ads", "search")) for name in names},
        current=bound,
        target=target,
        down=set(servers[:24]) | set(random.sample(servers, 6)),  # a whole MSB, and some
        maintained=set(random.sample(servers[24:], 6)),
        domains={"network_block": {name: f"block-{(at + 12) // 24}" for at, name in enumerate(servers)}},
    )
    snapshot = stored(database, image)
    ids = snapshot.reservations.id.tolist()
    for name in names[::2]:
        survive(database, name, ["network_block"])
    with database.write() as tx:
        region_id = load_region(tx, "west").region_id
        later = ReservationSpec(capacity_rru=2.2, rru={"hw-a": 1.1}, starts_at=NOW + timedelta(days=1))
        create_reservation(tx, region_id, name="later", owner="ads", spec=later, now=NOW, scheduled=True)
        findings = [
            NewFinding(
                reservation_id=i, observed_generation=1, phase=PHASES[i % 2], reason="Solved", message="", numbers={}
            )
            for i in ids[::3]
        ]
        record_findings(tx, region_id, findings, now=NOW)
        for at in (3, 4, 5):
            delete_reservation(tx, ids[at], generation=1 if at % 2 else 2, now=NOW)
    return database


def all_of(database: Database, wanted: ReservationFilter) -> list[Reservation]:
    with database.snapshot() as tx:
        return list(list_reservations(tx, wanted, limit=1000).items)


def in_order(
    database: Database,
    wanted: ReservationFilter,
    order: ReservationOrder,
    *,
    limit: int,
    between: Callable[[list[Reservation]], None] = lambda seen: None,
) -> list[Reservation]:
    """Return all pages. `between` gets the rows so far after each page."""
    seen: list[Reservation] = []
    after: ReservationPlace | None = None
    while True:
        with database.snapshot() as tx:
            page, after = list_ordered_reservations(tx, wanted, order, after=after, limit=limit)
        seen += page
        if after is None:
            return seen
        assert len(page) == limit
        between(seen)


def sorted_by(order: ReservationOrder, rows: list[Reservation]) -> list[str]:
    return [one.name for one in sorted(rows, key=KEYS[order.key], reverse=order.descending)]


@pytest.mark.parametrize("order", RESERVATION_ORDERS.values(), ids=str)
def test_an_order_agrees_with_a_sort_on_pages_of_any_size(region: Database, order: ReservationOrder) -> None:
    filters = [
        ReservationFilter(),
        ReservationFilter(region="west", owner="ads"),
        ReservationFilter(short=True),
        ReservationFilter(short=False, region="west"),
        ReservationFilter(phase=ReservationPhase.DELETED),
        ReservationFilter(phase=ReservationPhase.GRANTED),
        ReservationFilter(phase=ReservationPhase.SCHEDULED),
        ReservationFilter(name="none"),
    ]
    for wanted in filters:
        rows = all_of(region, wanted)
        for limit in (1, 5, 100):
            found = in_order(region, wanted, order, limit=limit)
            assert [one.name for one in found] == sorted_by(order, rows), (wanted, limit)


def test_the_region_of_this_test_has_ties_and_every_state(region: Database) -> None:
    rows = all_of(region, ReservationFilter())
    for order in RESERVATION_ORDERS.values():
        values = [KEYS[order.key](one) for one in rows]
        assert len(set(values)) > 1, order
        assert order.key is ReservationKey.NAME or len(set(values)) < len(values), order
    assert {phase_of(one) for one in rows} == {"granted", "degraded", "pending", "scheduled"}
    assert {ready_of(one) for one in rows} == {"True", "False", "Unknown"}
    kept = [one for one in rows if one.held.shortfall_rru > 0 and one.held.keeps(one.spec.capacity_rru)]
    assert kept, "one holds its promise although an MSB is lost"


@pytest.mark.parametrize("order", RESERVATION_ORDERS.values(), ids=str)
def test_deleted_reservations_move_no_other_to_another_page(region: Database, order: ReservationOrder) -> None:
    expected = sorted_by(order, all_of(region, ReservationFilter()))
    gone: list[str] = []

    def delete_last_and_next(seen: list[Reservation]) -> None:
        """Delete the last row, to which the cursor points, and one that was not shown yet."""
        rest = [one for one in all_of(region, ReservationFilter()) if one.name not in {s.name for s in seen}]
        with region.write() as tx:
            for one in [seen[-1], *rest[:1]]:
                delete_reservation(tx, one.reservation_id, generation=one.generation, now=NOW)
        gone.extend(one.name for one in rest[:1])

    found = in_order(region, ReservationFilter(), order, limit=4, between=delete_last_and_next)
    assert gone
    assert [one.name for one in found] == [name for name in expected if name not in gone]
