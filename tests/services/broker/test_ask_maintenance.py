"""Planned maintenance asks first: its answers, its queue, and what pauses it."""

from datetime import datetime, timedelta

import numpy as np
import pytest
import sqlalchemy as sa

from libs.domain.maintenance import MaintenanceReason as Reason
from libs.domain.region_condition import RegionConditionType
from libs.domain.reservation import ReservationSpec
from libs.domain.unavailability import EventState, Unavailability, UnavailabilityEvent, UnavailabilityScope
from libs.ras.drain_schedule import plan_drains
from libs.store.capacity.drain_ground import load_drain_ground
from libs.store.capacity.maintenance import load_ground
from libs.store.capacity.maintenance_need import load_maintenance_need
from libs.store.fleet.regions import load_region
from libs.store.fleet.unavailability_events import end_event, find_scope, list_events, load_event, open_event
from libs.store.platform.database import Database, Transaction
from libs.store.platform.load_figures import load_maintenance_queues
from libs.store.regions.region_conditions import load_condition
from services.broker.ask_maintenance import MaintenanceRefused, MaintenanceRequest, ask_queue, request_maintenance
from services.broker.reconcilers.refresh_unavailability import RefreshUnavailability
from tests.builders.granted import ask as store_requests
from tests.builders.race import race
from tests.builders.region import region_image
from tests.builders.stored import NOW, stored
from tests.services.broker.reconcilers.test_refresh_unavailability import At

HOUR = timedelta(hours=1)
WEB = ReservationSpec(capacity_rru=12, rru={"hw-a": 1.0})
PLAIN = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False)


@pytest.fixture(autouse=True)
def region_id(database: Database) -> int:
    """Three MSBs of four racks of two servers. web holds three racks of each; plain holds server-06 in rack-03."""
    current = {f"server-{8 * m + i:02d}": "web" for m in range(3) for i in range(6)} | {"server-06": "plain"}
    image = region_image(
        msbs=3, racks_per_msb=4, servers_per_rack=2, reservations={"web": WEB, "plain": PLAIN}, current=current
    )
    stored(database, image)
    with database.write() as tx:
        return load_region(tx, "west").region_id


def wanted(name: str, *, at: datetime = NOW, hours: float | None = None, override: str | None = None):
    return MaintenanceRequest(
        region="west",
        scope=UnavailabilityScope(name.split("-")[0].replace("dc", "datacenter")),
        scope_name=name,
        reason="test",
        starts_at=at,
        ends_at=None if hours is None else at + hours * HOUR,
        override_reason=override,
    )


def ask(tx: Transaction, name: str, **keywords: object) -> UnavailabilityEvent:
    return request_maintenance(tx, wanted(name, **keywords), actor="olga", now=NOW)[0]


def lose(tx: Transaction, name: str, *, now: datetime = NOW) -> int:
    """Report an unplanned event."""
    scope, when = UnavailabilityScope(name.split("-")[0]), {"starts_at": now, "ends_at": None, "now": now}
    kind = Unavailability.UNPLANNED
    event = open_event(tx, "west", scope=scope, scope_name=name, kind=kind, reason="test", actor="dog", **when)
    return event.unavailability_event_id


def end(tx: Transaction, event: UnavailabilityEvent | int, region_id: int, *, now: datetime = NOW) -> None:
    event_id = event if isinstance(event, int) else event.unavailability_event_id
    end_event(tx, event_id, generation=None, actor="olga", now=now)
    ask_queue(tx, region_id, now=now)


def maintained(tx: Transaction) -> list[int]:
    query = "SELECT right(name, 2)::int FROM servers WHERE unavailability = 'planned' ORDER BY 1"
    return list(tx.execute(sa.text(query)).scalars())


def again(tx: Transaction, event: UnavailabilityEvent) -> tuple[str, str | None, int | None, datetime | None]:
    found = load_event(tx, event.unavailability_event_id)
    assert found.answer is not None
    return found.state, found.answer.reason, found.answer.position, found.answer.begins_at


@pytest.mark.parametrize(
    ("name", "reason", "short"),
    [
        ("msb-00", Reason.ABOVE_QUARTER, {}),
        ("dc-00", Reason.SEVERAL_MSBS, {}),
        ("rack-03", Reason.WOULD_BE_SHORT, {"plain": 1.0}),
    ],
)
def test_what_breaks_a_rule_is_refused_and_leaves_nothing(
    database: Database, name: str, reason: Reason, short: dict[str, float]
) -> None:
    with database.write() as tx, pytest.raises(MaintenanceRefused) as refused:
        ask(tx, name)
    assert (refused.value.answer.reason, refused.value.answer.short_rru) == (reason, short)


def test_the_embedded_buffer_carries_maintenance_and_no_more(database: Database) -> None:
    """web holds 18 RRU for 12. It can spare a rack while 14 are up, and no more while 13 are."""
    with database.write() as tx:
        for server in ("server-08", "server-09", "server-10", "server-11", "server-12"):
            lose(tx, server)  # 13 are held; msb-01 is down by 5 of 8
        ask(tx, "server-16", at=NOW + HOUR)
        assert [event.state for event in list_events(tx, "west").items][-1] is EventState.ANNOUNCED
        queued = ask(tx, "rack-00")
        assert queued.answer is not None
        assert (queued.state, queued.answer.reason) == (EventState.QUEUED, Reason.MSB_DOWN)
        with pytest.raises(MaintenanceRefused, match="msb-01") as refused:
            ask(tx, "msb-01")
        assert refused.value.answer.reason is Reason.ABOVE_QUARTER
    with database.write() as tx:
        region = load_region(tx, "west").region_id
        down = next(e for e in list_events(tx, "west", is_open=True).items if e.scope_name == "server-12")
        end(tx, down, region)  # 14 are held, and msb-01 counts as up
        assert again(tx, queued)[:2] == (EventState.ALLOWED, Reason.ALLOWED)
        assert maintained(tx) == [0, 1]
        end(tx, queued, region)
        lose(tx, "server-16")  # 13 are held
        with pytest.raises(MaintenanceRefused) as refused:
            ask(tx, "rack-00")
        assert refused.value.answer.short_rru == {"web": 1.0}
        assert refused.value.answer.message == "reservations would hold less than they are promised: web by 1 RRU"


WAITS = [
    ([("create", 12, "degraded")], None),
    ([("create", 11, "granted"), ("resize", 12, "degraded")], None),
    ([("create", 11.5, "granted"), ("resize", 12, "degraded")], 0.5),
    ([("create", 12, "granted")], 1.0),
    ([("create", 14, "granted"), ("resize", 12, "degraded")], 1.0),
    ([("create", 12, "granted"), ("resize", 2, "awaiting_approval")], 1.0),
    ([("create", 12, "granted"), ("resize", 2, "submitted"), ("delete", 0, "submitted")], 1.0),
]
"""Requests of web, and what it lacks of its promise while it holds 11 RRU."""


def lose_five(tx: Transaction) -> None:
    for server in ("server-08", "server-09", "server-10", "server-16", "server-17"):
        lose(tx, server)


@pytest.mark.parametrize(("requests", "short"), WAITS)
def test_maintenance_takes_what_was_asked_for_and_not_granted(
    database: Database, requests: list[tuple[str, float, str]], short: float | None
) -> None:
    store_requests(database, requests)
    with database.write() as tx:
        lose_five(tx)  # 13 are held
    with database.write() as tx:
        if short is None:
            assert ask(tx, "rack-00").state is EventState.ALLOWED
            return
        with pytest.raises(MaintenanceRefused) as refused:
            ask(tx, "rack-00")
        assert refused.value.answer.short_rru == {"web": short}


@pytest.mark.parametrize(("requests", "short"), WAITS)
def test_servers_are_needed_back_for_what_was_granted(
    database: Database, region_id: int, requests: list[tuple[str, float, str]], short: float | None
) -> None:
    store_requests(database, requests)
    with database.write() as tx:
        ask(tx, "rack-00")
        lose_five(tx)  # 11 are held
    with database.snapshot() as tx:
        need = load_maintenance_need(tx, region_id, now=NOW)
    assert need.short_rru == ({} if short is None else {"web": short})


@pytest.mark.parametrize(("requests", "short"), WAITS)
def test_a_schedule_of_drains_keeps_what_was_granted(
    database: Database, requests: list[tuple[str, float, str]], short: float | None
) -> None:
    store_requests(database, requests)
    with database.write() as tx:
        lose_five(tx)  # 13 are held
    with database.snapshot() as tx:
        ground = load_drain_ground(tx, "west", racks=["rack-00"], msbs=[], now=NOW)
    found = plan_drains(ground, begins_at=NOW, ends_at=NOW + 4 * HOUR, each=HOUR, slots_max=9)
    over = [dict(answer.short_rru) for _, answer in found.unplaced]
    assert over == ([] if short is None else [{"web": short}])


def test_requests_queue_in_the_order_of_asking(database: Database, region_id: int) -> None:
    with database.write() as tx:
        first = ask(tx, "rack-00", hours=2)
        same, other = ask(tx, "rack-01", hours=1), ask(tx, "rack-04", hours=3)
        late = ask(tx, "server-14")
        assert again(tx, first)[:2] == (EventState.ALLOWED, Reason.ALLOWED)
        assert again(tx, same) == (EventState.QUEUED, Reason.QUARTER_IN_USE, 1, NOW + 2 * HOUR)
        assert again(tx, other) == (EventState.QUEUED, Reason.BEHIND, 2, NOW + 3 * HOUR)
        assert again(tx, late) == (EventState.QUEUED, Reason.BEHIND, 3, NOW + 6 * HOUR)
        assert maintained(tx) == [0, 1]
        with pytest.raises(MaintenanceRefused):
            ask(tx, "msb-02")  # a request that can never begin does not wait
        generations = [event.generation for event in list_events(tx, "west").items]
        assert ask_queue(tx, region_id, now=NOW) == 0
        assert [event.generation for event in list_events(tx, "west").items] == generations

        end(tx, other, region_id)  # withdrawn
        assert again(tx, late) == (EventState.QUEUED, Reason.BEHIND, 2, NOW + 3 * HOUR)
        end(tx, first, region_id, now=NOW + HOUR)
        assert maintained(tx) == [2, 3]
        assert load_event(tx, same.unavailability_event_id).ends_at == NOW + 2 * HOUR  # it keeps its hour
        assert again(tx, late) == (EventState.QUEUED, Reason.OTHER_MSB, 1, NOW + 2 * HOUR)


def test_the_loop_begins_what_is_due_and_a_failure_pauses_it(database: Database) -> None:
    class At:
        def __init__(self, hours: float) -> None:
            self.hours = hours

        def now(self) -> datetime:
            return NOW + self.hours * HOUR

        def sleep(self, duration_s: float) -> None:
            raise AssertionError("nobody waits here")

    def tick(hours: float) -> list[int]:
        RefreshUnavailability(database, At(hours), "west").reconcile()
        with database.write() as tx:
            return maintained(tx)

    with database.write() as tx:
        event = ask(tx, "rack-00", at=NOW + HOUR, hours=2)
        too_late = ask(tx, "rack-03", at=NOW + 6 * HOUR)  # plain may be gone by then
        assert (event.state, event.answer) == (EventState.ANNOUNCED, None)
        with pytest.raises(MaintenanceRefused):
            ask(tx, "msb-00", at=NOW + HOUR)
    assert tick(0.9) == []
    with database.write() as tx:
        outage = lose(tx, "msb-02", now=NOW + HOUR)
    assert tick(1) == []
    with database.write() as tx:
        assert again(tx, event) == (EventState.QUEUED, Reason.MSB_DOWN, 1, None)
        end_event(tx, outage, generation=None, actor="dog", now=NOW + 2 * HOUR)
    assert tick(2) == [0, 1]
    assert tick(3.9) == [0, 1]
    assert tick(4) == []
    assert tick(6) == []
    with database.write() as tx:
        assert again(tx, too_late)[:2] == (EventState.REFUSED, Reason.WOULD_BE_SHORT)
        assert load_event(tx, too_late.unavailability_event_id).ended_at == NOW + 6 * HOUR


def test_an_override_begins_against_the_rules(database: Database) -> None:
    with database.write() as tx:
        event = ask(tx, "msb-00", override="breaker test")
        assert again(tx, event)[:2] == (EventState.ALLOWED, Reason.ABOVE_QUARTER)
        assert maintained(tx) == list(range(8))
        reasons = "SELECT reason FROM audit_entries WHERE subject_kind = 'unavailability_event' AND action = 'open'"
        assert list(tx.execute(sa.text(reasons)).scalars()) == ["breaker test"]
        needless = ask(tx, "server-07", override="in a hurry")
        assert again(tx, needless)[:2] == (EventState.ALLOWED, Reason.ALLOWED)


def test_of_two_that_ask_at_once_for_two_msbs_one_waits(database: Database) -> None:
    made = race(database, lambda tx: ask(tx, "rack-00"), lambda tx: ask(tx, "rack-04"), lambda tx: ask(tx, "rack-08"))
    states = sorted(event.state for event in made if isinstance(event, UnavailabilityEvent))
    assert states == [EventState.ALLOWED, EventState.QUEUED, EventState.QUEUED]
    with database.write() as tx:
        assert len(maintained(tx)) == 2


@pytest.mark.parametrize("seed", range(6))
def test_the_ground_is_what_counting_servers_gives(database: Database, region_id: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    with database.write() as tx:
        for i in rng.choice(24, 8, replace=False).tolist():
            kind = Unavailability.PLANNED if rng.random() < 0.5 else Unavailability.UNPLANNED
            name, start = f"server-{i:02d}", NOW + HOUR * int(rng.random() < 0.2)
            scope, when = UnavailabilityScope.SERVER, {"starts_at": start, "ends_at": None, "now": NOW}
            open_event(tx, "west", scope=scope, scope_name=name, kind=kind, reason="test", actor="olga", **when)
        query = """SELECT servers.name, racks.name AS rack, msbs.name AS msb, unavailability AS state, held.name AS held
                   FROM servers JOIN racks USING (rack_id) JOIN msbs USING (msb_id)
                   LEFT JOIN reservations AS held ON reservation_id = current_reservation_id"""
        servers = tx.execute(sa.text(query)).all()
        names = [*(s.name for s in servers), *{s.rack for s in servers}, *{s.msb for s in servers}, "dc-00"]
        for name in names:
            scope = wanted(name).scope
            ground = load_ground(tx, region_id, scope, find_scope(tx, region_id, scope, name), now=NOW)
            within = [s for s in servers if name in (s.name, s.rack, s.msb, "dc-00")]
            for m, msb in enumerate(ground.msb):
                there = [s for s in servers if s.msb == msb]
                counts = (ground.servers[m], ground.in_maintenance[m], ground.down[m], ground.asked[m])
                assert counts == (
                    len(there),
                    sum(s.state == "planned" for s in there),
                    sum(s.state == "unplanned" for s in there),
                    sum(s in within and s.state != "planned" for s in there),
                )
            for r, reservation in enumerate(ground.reservation):
                up = [s for s in servers if s.held == reservation and s.state == "none"]
                numbers = (ground.held_rru[r], ground.gone_rru[r])
                assert numbers == (len(up), len([s for s in up if s in within]))
            losing = {s.held for s in within if s.held is not None and s.state == "none"}
            assert set(ground.reservation) == losing
            assert len(ground.underway) == sum(s.state == "planned" for s in servers)


def test_servers_that_are_needed_must_be_back_within_half_an_hour(database: Database, region_id: int) -> None:
    """web holds 18 RRU for 12. With a rack in maintenance, and five servers that fail elsewhere, it lacks one."""
    seen = []

    def look(minutes: float) -> None:
        RefreshUnavailability(database, At(NOW + timedelta(minutes=minutes)), "west").reconcile()
        with database.snapshot() as tx:
            condition = load_condition(tx, region_id, RegionConditionType.MAINTENANCE_RETURNS)
        assert condition is not None
        seen.append((condition.status.value, condition.reason))
        if condition.reason != "NotNeeded":
            assert condition.message.startswith("Reservations hold less than they are promised while servers are in")
            asked = f"web by 1 RRU. Return the servers of the planned events {event.unavailability_event_id} until "
            assert asked + "2026-11-01 12:35" in condition.message

    with database.write() as tx:
        event = ask(tx, "rack-00")
    look(1)
    with database.write() as tx:
        for i in range(8, 13):
            lose(tx, f"server-{i:02d}", now=NOW + timedelta(minutes=5))
    for minutes in (5, 20, 35, 36):
        look(minutes)
    with database.write() as tx:
        end(tx, event, region_id, now=NOW + timedelta(minutes=40))
    look(40)
    status = [one[0] for one in seen]
    assert status == ["True", "Unknown", "Unknown", "Unknown", "False", "True"]
    assert seen[4][1] == "NotReturned"


def test_the_age_of_the_queue_is_a_figure(database: Database) -> None:
    with database.write() as tx:
        ask(tx, "rack-00")
        assert load_maintenance_queues(tx) == {}
        assert ask(tx, "rack-04").state is EventState.QUEUED
        assert load_maintenance_queues(tx) == {"west": NOW.timestamp()}
