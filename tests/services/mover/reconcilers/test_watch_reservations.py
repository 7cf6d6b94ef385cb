"""The history of what reservations hold, on a real database whose clock the test moves."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from libs.domain.page import Page
from libs.domain.readiness import Readiness, ReadinessHistory, ReadinessInterval, RegionReadiness
from libs.domain.region_condition import ConditionStatus
from libs.domain.reservation import ReservationSpec
from libs.domain.unavailability import Unavailability, UnavailabilityScope
from libs.observability.tallies import take
from libs.store.capacity.coverage import load_coverage
from libs.store.capacity.readiness import forget_readiness, load_region_readiness
from libs.store.capacity.readiness_history import list_readiness, load_readiness_histories
from libs.store.capacity.reservations import delete_reservation, update_spec
from libs.store.fleet.unavailability_events import end_event, open_event
from libs.store.platform.database import Database
from libs.store.regions.region_summary import load_region_summary
from services.mover.reconcilers import watch_reservations
from services.mover.reconcilers.watch_reservations import GAP_MAX, WatchReservations
from tests.builders.clock import ManualClock
from tests.builders.granted import ask
from tests.builders.region import region_image
from tests.builders.stored import reservation_id, stored

TWO = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)
BUFFER = ReservationSpec(capacity_rru=9, rru={"hw-a": 1.0}, survives_msb_loss=False)
MOVED = "UPDATE servers SET current_reservation_id = target_reservation_id"


class Watch:
    """A region of two MSBs with web, db and a shared buffer, and looks at it."""

    def __init__(self, database: Database, clock: ManualClock) -> None:
        self.database, self.clock = database, clock
        current = {"server-00": "web", "server-04": "web", "server-01": "db"}
        image = region_image(
            reservations={"web": TWO, "db": TWO, "spare": BUFFER},
            current=current,
            target=current | {"server-02": "db"},
            kind={"spare": "shared_buffer"},
        )
        snapshot = stored(database, image)
        self.ids = {name: reservation_id(snapshot, name) for name in ("web", "db", "spare")}

    def look(self, seconds: float = 5.0) -> int:
        self.clock.sleep(seconds)
        return WatchReservations(self.database, self.clock, "west").reconcile()

    def look_for(self, seconds: float) -> None:
        """Look every half minute."""
        for _ in range(int(seconds // 30)):
            self.look(30)

    def page(self, name: str, after: int | None = None, limit: int = 100) -> Page[ReadinessInterval]:
        with self.database.snapshot() as tx:
            return list_readiness(tx, self.ids[name], after=after, limit=limit)

    def story(self, name: str) -> list[tuple[str, float]]:
        """Return (state, seconds) of each interval, oldest first."""
        found = reversed(self.page(name).items)
        return [(one.record.readiness, (one.until_at - one.record.from_at).total_seconds()) for one in found]

    def history(self, name: str) -> ReadinessHistory:
        with self.database.snapshot() as tx:
            return load_readiness_histories(tx, [self.ids[name]])[self.ids[name]]

    def lose(self, scope: str, name: str) -> int:
        report = {"reason": "test", "ends_at": None, "actor": "olga", "kind": Unavailability.UNPLANNED}
        now = self.clock.now()
        with self.database.write() as tx:
            place = {"scope": UnavailabilityScope(scope), "scope_name": name}
            return open_event(tx, "west", **place, **report, starts_at=now, now=now).unavailability_event_id

    def mend(self, event_id: int) -> None:
        with self.database.write() as tx:
            end_event(tx, event_id, generation=None, actor="olga", now=self.clock.now())

    def execute(self, statement: str) -> None:
        with self.database.write() as tx:
            tx.execute(sa.text(statement))


@pytest.fixture
def watch(database: Database, clock: ManualClock) -> Watch:
    return Watch(database, clock)


def test_a_row_is_appended_only_when_something_changed(watch: Watch) -> None:
    assert watch.look() == 3, "the first look has a row for each"
    assert watch.look() == 0
    event = watch.lose("server", "server-00")
    assert watch.look() == 1
    watch.mend(event)
    assert watch.look(10) == 1
    assert watch.look(20) == 0
    assert watch.story("web") == [("Held", 10), ("CapacityLost", 10), ("Held", 20)]
    lost = watch.page("web").items[1].record
    assert (lost.capacity_rru, lost.held_rru, lost.held_after_msb_loss_rru) == (2, 1, 0)
    assert watch.history("web").availability.share == pytest.approx(30 / 40)


def test_a_new_promise_is_not_there_yet_and_a_loss_is_told_apart(watch: Watch) -> None:
    watch.look()
    watch.execute(MOVED)
    watch.look()
    with watch.database.write() as tx:
        bigger = ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, survives_msb_loss=False)
        update_spec(tx, watch.ids["db"], bigger, generation=1)
    watch.look()
    watch.look()
    assert [state for state, _ in watch.story("db")] == ["NotThereYet", "Held", "NotThereYet"]
    [latest, *_] = watch.page("db").items
    assert (latest.record.observed_generation, latest.record.capacity_rru) == (2, 3)


@pytest.mark.parametrize(
    ("requests", "story"),
    [
        ([("create", 2, "granted")], ["Held", "CapacityLost", "CapacityLost", "CapacityLost", "Held"]),
        ([("create", 2, "degraded")], ["Held", "NotThereYet", "NotThereYet", "NotThereYet", "Held"]),
        (
            [("create", 1, "granted"), ("resize", 2, "degraded")],
            ["Held", "NotThereYet", "CapacityLost", "NotThereYet", "Held"],
        ),
        (
            [("create", 3, "granted"), ("resize", 2, "degraded")],
            ["Held", "CapacityLost", "CapacityLost", "CapacityLost", "Held"],
        ),
    ],
)
def test_a_request_that_waits_loses_only_what_was_granted(
    watch: Watch, requests: list[tuple[str, float, str]], story: list[str]
) -> None:
    ask(watch.database, requests)
    watch.look()
    events = []
    for server in ("server-00", "server-04"):
        events.append(watch.lose("server", server))
        watch.look()
    lost = load_readiness(watch)
    assert (lost.capacity_lost, lost.not_there_yet) == ((1, 1) if story[2] == "CapacityLost" else (0, 2)), "with db"
    for event in events:
        watch.mend(event)
        watch.look()
    assert [state for state, _ in watch.story("web")] == story


def load_readiness(watch: Watch) -> RegionReadiness:
    with watch.database.snapshot() as tx:
        return load_region_readiness(tx)["west"]


def test_a_promise_is_lost_while_more_is_asked_for(watch: Watch) -> None:
    """A resize makes no promise smaller or unseen, before the loss and after it."""
    ask(watch.database, [("create", 2, "granted")])
    watch.look()
    waits = [("resize", 5, "degraded")]
    more = ReservationSpec(capacity_rru=5, rru={"hw-a": 1.0}, survives_msb_loss=False)

    def resize(generation: int) -> None:
        with watch.database.write() as tx:
            update_spec(tx, watch.ids["web"], more, generation=generation)
        ask(watch.database, waits)

    resize(1)
    watch.look()
    event = watch.lose("server", "server-00")
    watch.look()
    resize(2)
    watch.look()
    watch.mend(event)
    watch.look()
    assert [state for state, _ in watch.story("web")] == [
        "Held", "NotThereYet", "CapacityLost", "CapacityLost", "NotThereYet"
    ]  # fmt: skip


def test_a_promise_that_was_never_held_is_not_lost_with_a_request_for_more(watch: Watch) -> None:
    """db holds one server of the two that it was granted, and asks for a third."""
    ask(watch.database, [("create", 2, "granted"), ("resize", 3, "degraded")], name="db")
    with watch.database.write() as tx:
        more = ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, survives_msb_loss=False)
        update_spec(tx, watch.ids["db"], more, generation=1)
    watch.look()
    watch.lose("server", "server-01")
    watch.look()
    assert [state for state, _ in watch.story("db")] == ["NotThereYet", "NotThereYet"]


def test_since_is_the_last_change_of_the_status_and_not_of_the_numbers(watch: Watch, clock: ManualClock) -> None:
    watch.look()
    first = clock.now()
    watch.execute(
        "UPDATE servers SET current_reservation_id = (SELECT reservation_id FROM reservations "
        "WHERE name = 'web') WHERE name = 'server-05'"
    )
    assert watch.look() == 1
    last = watch.history("web").last
    assert last is not None
    assert (last.held_rru, last.since_at, last.from_at) == (3, first, clock.now())
    watch.lose("msb", "msb-01")
    watch.look()
    lost = watch.history("web").last
    assert lost is not None
    assert (lost.readiness.status, lost.since_at) == (ConditionStatus.FALSE, clock.now())


def test_time_without_looks_is_unknown_and_not_ready(watch: Watch) -> None:
    watch.look()
    watch.look_for(60)
    watch.lose("server", "server-00")
    watch.look(3600)
    watch.look(10)
    assert watch.story("web") == [("Held", 60), ("NotWatched", 3600), ("CapacityLost", 10)]
    unknown = watch.page("web").items[1].record
    assert (unknown.held_rru, unknown.readiness.status) == (None, ConditionStatus.UNKNOWN)
    availability = watch.history("web").availability
    assert (availability.ready_s, availability.watched_s) == (60, 70)


def test_a_look_as_late_as_a_minute_leaves_no_gap(watch: Watch) -> None:
    watch.look()
    assert watch.look(GAP_MAX.total_seconds()) == 0
    assert watch.look(GAP_MAX.total_seconds() + 1) == 6


def test_nothing_of_a_look_is_stored_if_it_is_killed(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    watch.look()
    watch.lose("server", "server-00")

    def killed(name: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(watch_reservations, "crash_point", killed)
        with pytest.raises(KeyboardInterrupt):
            watch.look()
    assert watch.story("web") == [("Held", 0)]
    assert watch.look() == 1
    assert [state for state, _ in watch.story("web")] == ["Held", "CapacityLost"]


def test_of_two_looks_at_once_one_is_stored(
    watch: Watch, database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch.look()
    watch.lose("server", "server-00")
    clock.sleep(5)
    inner: list[int] = []

    def look_in_between(name: str) -> None:
        if name == "mover.watch.before" and not inner:
            inner.append(-1)
            inner[0] = WatchReservations(database, clock, "west").reconcile()

    monkeypatch.setattr(watch_reservations, "crash_point", look_in_between)
    assert WatchReservations(database, clock, "west").reconcile() == 0
    assert inner == [1]
    assert len(watch.page("web").items) == 2


def test_a_clock_that_was_ahead_leaves_no_rows_of_the_future(watch: Watch) -> None:
    watch.look()
    watch.look_for(60)
    event = watch.lose("server", "server-00")
    watch.look(86_400)
    watch.mend(event)
    watch.look(-86_400 + 10)
    watch.look(10)
    states = [state for state, _ in watch.story("web")]
    assert states[0] == "Held"
    assert "CapacityLost" not in states
    assert sum(seconds for _, seconds in watch.story("web")) == 80


def test_shared_buffers_have_a_history_and_are_no_promise_of_the_region(watch: Watch) -> None:
    watch.look()
    assert watch.story("spare") == [("NotThereYet", 0)]
    with watch.database.snapshot() as tx:
        region = load_region_readiness(tx)["west"]
        summary = load_region_summary(tx, "west")
    assert (region.ready, region.not_there_yet, region.capacity_lost) == (1, 1, 0)
    assert (region.capacity_rru, region.held_rru, region.missing_rru) == (4, 3, 1)
    assert summary.readiness == region


def test_what_a_guest_lacks_counts_once(database: Database, clock: ManualClock) -> None:
    """Two of four servers are down. The guest has half of each, and needs them; the host needs two for itself."""
    host = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False)
    guest = replace(host, capacity_rru=2, guest_of="web", guest_share=0.5)
    current = dict.fromkeys(("server-00", "server-01", "server-04", "server-05"), "web")
    image = region_image(reservations={"web": host, "cache": guest}, current=current)
    snapshot = stored(database, image)
    place = {"reason": "test", "ends_at": None, "actor": "olga", "kind": Unavailability.UNPLANNED}
    with database.write() as tx:
        for name in ("server-00", "server-01"):
            event = {"scope": UnavailabilityScope.SERVER, "scope_name": name, "starts_at": clock.now()}
            open_event(tx, "west", **event, **place, now=clock.now())
    WatchReservations(database, clock, "west").reconcile()
    with database.snapshot() as tx:
        held = load_coverage(tx, [reservation_id(snapshot, "web")], "held")
        [of_host] = held.values()
        region, summary = load_region_readiness(tx)["west"], load_region_summary(tx, "west")
    assert (region.ready, region.not_there_yet) == (0, 2)
    assert (region.missing_rru, summary.shortfall_rru, of_host.shortfall_rru) == (0.5, 0.5, 0.5)


def test_a_summary_names_the_worst_first_and_none_that_was_always_whole(watch: Watch) -> None:
    watch.look()
    watch.look_for(60)
    watch.execute(MOVED)
    watch.look()
    watch.lose("server", "server-00")
    watch.look()
    watch.look()
    with watch.database.snapshot() as tx:
        worst = load_region_summary(tx, "west").worst
    assert [one.name for one in worst] == ["db", "web"]
    assert [one.last.readiness for one in worst] == [Readiness.HELD, Readiness.CAPACITY_LOST]


def test_what_has_not_begun_promises_nothing(watch: Watch, clock: ManualClock) -> None:
    watch.execute("UPDATE reservations SET scheduled = true, starts_at = '2027-01-01' WHERE name = 'web'")
    watch.look()
    watch.look()
    assert watch.story("web") == [("NothingPromised", 5)]
    assert watch.history("web").availability.share is None
    watch.execute("UPDATE reservations SET scheduled = false WHERE name = 'web'")
    watch.look()
    assert watch.story("web")[-1] == ("Held", 0)


def test_a_deleted_reservation_ends_its_history(watch: Watch, clock: ManualClock) -> None:
    watch.look()
    watch.look()
    with watch.database.write() as tx:
        delete_reservation(tx, watch.ids["web"], generation=1, now=clock.now())
    for later in (5, 40 * 86_400):
        watch.look(later)
        assert watch.story("web") == [("Held", 5)]
        assert watch.history("web").availability.watched_s == 5


def test_pages_follow_each_other(watch: Watch) -> None:
    watch.look()
    for _ in range(3):
        event = watch.lose("server", "server-00")
        watch.look()
        watch.mend(event)
        watch.look()
    whole = watch.page("web").items
    assert len(whole) == 7
    found, after = [], None
    while True:
        page = watch.page("web", after=after, limit=3)
        found += page.items
        after = page.next_cursor
        if after is None:
            break
    assert tuple(found) == whole
    assert watch.page("web", after=2**63 - 1).items[0].record == whole[0].record, "no cursor is too large"


def test_availability_counts_thirty_days_and_retention_keeps_the_row_in_force(watch: Watch, clock: ManualClock) -> None:
    slow = WatchReservations(watch.database, clock, "west", timedelta(days=100))

    def look(days: float) -> datetime:
        clock.sleep(timedelta(days=days).total_seconds())
        slow.reconcile()
        return clock.now()

    look(0)
    event = watch.lose("server", "server-00")
    look(20)
    watch.mend(event)
    look(50)  # lost from day 20 to day 70
    last = look(25)  # day 95: of the last 30 days, five were lost
    availability = watch.history("web").availability
    assert availability.watched_s == timedelta(days=30).total_seconds()
    assert availability.share == pytest.approx(25 / 30)
    with watch.database.write() as tx:
        assert forget_readiness(tx, "west", before=last - timedelta(days=30), most=100) == 1
        assert forget_readiness(tx, "west", before=last - timedelta(days=30), most=100) == 0
    assert [state for state, _ in watch.story("web")] == ["CapacityLost", "Held"]
    assert [state for state, _ in watch.story("db")] == ["NotThereYet"]
    assert watch.history("web").availability == availability
    with watch.database.write() as tx:
        delete_reservation(tx, watch.ids["web"], generation=1, now=clock.now())
    with watch.database.write() as tx:
        assert forget_readiness(tx, "west", before=last + timedelta(days=1), most=100) == 2, "all of a deleted one"


def test_time_is_counted_by_state(watch: Watch) -> None:
    watch.look()
    take()
    watch.look(20)
    watch.look(7200)
    counted = {labels: value for (name, labels), value in take().items() if name == "plimsoll_reservation_seconds"}
    assert counted == {
        ("west", "ready"): 20,
        ("west", "not_there_yet"): 20,
        ("west", "capacity_lost"): 0,
        ("west", "not_watched"): 2 * 7200,
    }


def test_a_look_takes_as_many_statements_whatever_it_finds(watch: Watch, database: Database) -> None:
    """One statement per reservation would not do: a region has thousands."""
    statements: list[str] = []
    sa.event.listen(database._engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    watch.look()
    first = len(statements)
    watch.look()
    assert first <= 8
    assert len(statements) - first < first
