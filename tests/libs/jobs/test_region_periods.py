"""A region's own solve period counts at once, for that region only, and survives restarts of the scheduler."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from libs.domain.policy import RegionPolicy
from libs.jobs.settings import JobSettings
from libs.jobs.tick import tick
from libs.reconcile.errors import StaleGeneration
from libs.reconcile.jobs import MOVE, SOLVE
from libs.store.fleet.regions import create_region, load_region
from libs.store.plans.solve_schedules import load_solve_schedule, set_solve_period
from libs.store.platform import audit
from libs.store.platform.database import Database
from libs.store.platform.jobs import list_jobs
from libs.store.platform.refusals import NotFound

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
HOUR, HALF = timedelta(hours=1), timedelta(minutes=30)


class SetClock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.at = NOW

    def now(self) -> datetime:
        return self.at

    def sleep(self, duration_s: float) -> None:
        raise AssertionError("nothing here waits")


class Scheduler:
    """The ticks of one process. A new one is a restart without memory."""

    def __init__(self, database: Database, solve_s: float = 3600.0) -> None:
        self.database, self.clock = database, SetClock()
        cycles = {SOLVE: solve_s, MOVE: 7200.0}
        self.settings = JobSettings.model_validate({"PLIMSOLL_JOB_CYCLES": cycles, "PLIMSOLL_JOB_WORLD_CYCLES": {}})

    def solves(self, at: datetime) -> list[str]:
        """Return the regions that a tick at this time solves."""
        self.clock.at = at
        with self.database.write() as tx:
            before = {job.job_id for job in list_jobs(tx).items}
        tick(self.database, self.clock, self.settings, lambda kind, job_id, expires_s: None)
        with self.database.write() as tx:
            asked = [job for job in list_jobs(tx).items if job.job_id not in before and job.kind == SOLVE]
            tx.exec_driver_sql("DELETE FROM jobs")  # done, so that the next tick queues another
        return sorted(job.subject for job in asked)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, pool_size=5)
    with database.write() as tx:
        for region in ("east", "west"):
            create_region(tx, region, RegionPolicy(), now=NOW)
    yield database
    database.close()


def choose(database: Database, solve_every_s: float | None, at: datetime, *, reason: str | None = None) -> datetime:
    """Set the period of `west`, and return the time of its next solve."""
    with database.write() as tx:
        generation = load_region(tx, "west").generation
        after = set_solve_period(tx, "west", solve_every_s, generation=generation, actor="olga", now=at, reason=reason)
        assert after == load_solve_schedule(tx, "west")
    assert after.solve_due_at is not None
    return after.solve_due_at


def test_a_shorter_period_counts_from_the_next_tick_and_for_that_region_only(database: Database) -> None:
    scheduler = Scheduler(database)
    assert scheduler.solves(NOW) == ["east", "west"]
    assert choose(database, 1800.0, NOW + timedelta(minutes=5)) == NOW + timedelta(minutes=35)
    assert scheduler.solves(NOW + timedelta(minutes=34)) == []
    assert scheduler.solves(NOW + timedelta(minutes=35)) == ["west"]
    assert scheduler.solves(NOW + HOUR) == ["east"]
    assert scheduler.solves(NOW + timedelta(minutes=65)) == ["west"]
    assert scheduler.solves(NOW + 2 * HOUR) == ["east", "west"]


def test_it_survives_another_scheduler_with_other_periods(database: Database) -> None:
    Scheduler(database).solves(NOW)
    choose(database, 1800.0, NOW)
    for solve_s in (3600.0, 7200.0):
        restarted = Scheduler(database, solve_s)
        assert restarted.solves(NOW + timedelta(minutes=1)) == []
        with database.snapshot() as tx:
            found = load_solve_schedule(tx, "west")
        assert (found.solve_every_s, found.period_s) == (1800.0, 1800.0)
    assert restarted.solves(NOW + HALF) == ["west"]
    with database.snapshot() as tx:
        east = load_solve_schedule(tx, "east")
    assert (east.solve_every_s, east.period_s) == (None, 7200.0)


def test_a_longer_period_is_not_taken_for_a_clock_that_went_back(database: Database) -> None:
    scheduler = Scheduler(database)
    scheduler.solves(NOW)
    choose(database, 86_400.0, NOW)
    assert scheduler.solves(NOW + HOUR) == ["east", "west"], "it was due already"
    assert scheduler.solves(NOW + 2 * HOUR) == ["east"]
    assert scheduler.solves(NOW + 24 * HOUR) == ["east"]
    assert scheduler.solves(NOW + 25 * HOUR) == ["east", "west"]


def test_a_clock_that_went_back_does_not_stop_it(database: Database) -> None:
    scheduler = Scheduler(database)
    scheduler.solves(NOW)
    choose(database, 600.0, NOW)
    back = NOW - timedelta(minutes=15)
    assert scheduler.solves(back) == ["west"], "due 25 minutes from then, which is more than two periods"
    assert scheduler.solves(back + timedelta(minutes=10)) == ["west"]


def test_it_can_be_set_before_a_scheduler_has_seen_the_region(database: Database) -> None:
    with database.write() as tx:
        generation = load_region(tx, "west").generation
        after = set_solve_period(tx, "west", 600.0, generation=generation, actor="olga", now=NOW)
    assert (after.period_s, after.solve_due_at) == (600.0, None)
    scheduler = Scheduler(database)
    assert scheduler.solves(NOW) == ["east", "west"]
    assert scheduler.solves(NOW + timedelta(minutes=10)) == ["west"]


def test_null_returns_to_the_period_of_the_scheduler(database: Database) -> None:
    scheduler = Scheduler(database)
    scheduler.solves(NOW)
    choose(database, 600.0, NOW)
    assert choose(database, None, NOW) == NOW + timedelta(minutes=10), "what is due sooner stays so"
    with database.snapshot() as tx:
        found = load_solve_schedule(tx, "west")
    assert (found.solve_every_s, found.period_s) == (None, 3600.0)
    assert scheduler.solves(NOW + timedelta(minutes=10)) == ["west"]
    assert scheduler.solves(NOW + timedelta(minutes=69)) == ["east"]
    assert scheduler.solves(NOW + timedelta(minutes=70)) == ["west"]


def test_a_change_raises_the_generation_and_is_in_the_audit_trail(database: Database) -> None:
    with database.write() as tx:
        generation = load_region(tx, "west").generation
        after = set_solve_period(tx, "west", 600.0, generation=generation, actor="olga", now=NOW, reason="a busy week")
        assert after.generation == generation + 1
        again = set_solve_period(tx, "west", 600.0, generation=after.generation, actor="olga", now=NOW)
        assert again == after, "the same once more changes nothing"
        with pytest.raises(StaleGeneration):
            set_solve_period(tx, "west", None, generation=generation, actor="olga", now=NOW)
        with pytest.raises(NotFound):
            set_solve_period(tx, "wset", None, generation=1, actor="olga", now=NOW)
        entries = audit.list_entries(tx, subject_kind="region").items
    [entry] = [entry for entry in entries if entry.action == "set_solve_period"]
    assert (entry.actor, entry.reason) == ("olga", "a busy week")
    assert (entry.before, entry.after) == ({"solve_every_s": None}, {"solve_every_s": 600.0})
