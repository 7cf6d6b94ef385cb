"""A stalled transaction delays the jobs whose rows it locks, and no other."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from libs.domain.job import JobStatus
from libs.domain.policy import RegionPolicy
from libs.jobs.settings import JobSettings
from libs.jobs.tick import tick
from libs.observability.tallies import JOBS, take
from libs.reconcile.clock import SystemClock
from libs.store.fleet.regions import create_region
from libs.store.platform.connection import PARAMETERS
from libs.store.platform.database import Database, Transaction
from libs.store.platform.jobs import CHANNEL, LANE_JOBS_MAX, claim_job, drop_queued, enqueue, finish_job
from libs.store.platform.tallies import load_tallies, write_tallies
from libs.store.platform.wakeups import Wakeups
from tests.builders.jobs import load_job


@pytest.fixture(autouse=True)
def waits_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a wait for a lock raise an error at once. The stalled transaction itself may last as long as the test."""
    options = PARAMETERS["options"].replace("lock_timeout=30s", "lock_timeout=100ms")
    options = options.replace("idle_in_transaction_session_timeout=30s", "idle_in_transaction_session_timeout=0")
    monkeypatch.setitem(PARAMETERS, "options", options)
    monkeypatch.setattr("libs.jobs.tick._undisturbed", lambda step, name: step())


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, pool_size=5)
    with database.write() as tx:
        for region in ("east", "west"):
            create_region(tx, region, RegionPolicy(), now=SystemClock().now())
    yield database
    database.close()


@contextmanager
def standing_still(database_url: str, write: Callable[[Transaction], object]) -> Iterator[None]:
    """Hold a transaction as a process would that was stopped between this write and its commit."""
    other = Database(database_url, pool_size=1)
    try:
        with other.write() as tx:
            write(tx)
            yield
    finally:
        other.close()


def settings(cycles: dict[str, float] | None = None) -> JobSettings:
    return JobSettings.model_validate(
        {
            "PLIMSOLL_JOB_CYCLES": cycles or {},
            "PLIMSOLL_JOB_WORLD_CYCLES": {},
            "PLIMSOLL_JOB_RESEND_S": 3600.0,
        }
    )


def ticked(database: Database, cycles: dict[str, float] | None = None) -> list[tuple[str, int]]:
    """Return the messages of one tick."""
    sent: list[tuple[str, int]] = []
    tick(database, SystemClock(), settings(cycles), lambda kind, job_id, _: sent.append((kind, job_id)))
    return sent


def subjects(database: Database, sent: list[tuple[str, int]]) -> set[tuple[str, str]]:
    with database.snapshot() as tx:
        return {(kind, load_job(tx, job_id).subject) for kind, job_id in sent}


@pytest.mark.parametrize("committed", [True, False])
def test_a_job_that_is_being_asked_for_delays_no_other(database: Database, database_url: str, committed: bool) -> None:
    """The row may exist before, or the stalled transaction may write it."""
    if committed:
        with database.write() as tx:
            enqueue(tx, "move", "west")
    with standing_still(database_url, lambda tx: enqueue(tx, "move", "west")):
        with database.write() as tx:
            asked = enqueue(tx, "assess", "east")
        sent = ticked(database, {"move": 5.0, "solve": 3600.0})
        assert ("assess", asked) in sent
        expected = {("assess", "east"), ("move", "east"), ("solve", "east"), ("solve", "west")}
        assert subjects(database, sent) - {("move", "west")} == expected
    late = subjects(database, ticked(database, {"move": 5.0, "solve": 3600.0}))
    assert late == {("move", "west")}, "its schedule stayed due, and no other ran twice"


def test_a_lease_that_expired_is_taken_back_beside_one_that_is_held(database: Database, database_url: str) -> None:
    for subject in ("east", "west"):
        with database.write() as tx:
            job_id = enqueue(tx, "move", subject)
            assert claim_job(tx, job_id, worker="dead", lease_s=-1.0) is not None
    with standing_still(
        database_url, lambda tx: tx.execute(sa.text("UPDATE jobs SET trace = '' WHERE subject = 'west'"))
    ):
        assert subjects(database, ticked(database)) == {("move", "east")}
    assert subjects(database, ticked(database)) == {("move", "west")}


def test_a_worker_does_not_wait_for_a_job_that_is_being_asked_for(database: Database, database_url: str) -> None:
    with database.write() as tx:
        job_id = enqueue(tx, "move", "west")
    with standing_still(database_url, lambda tx: enqueue(tx, "move", "west")), database.write() as tx:
        assert claim_job(tx, job_id, worker="w", lease_s=30.0) is None
    with database.write() as tx:
        claimed = claim_job(tx, job_id, worker="w", lease_s=30.0)
    assert claimed is not None
    assert claimed.status is JobStatus.RUNNING


def test_counts_wait_for_their_rows_elsewhere_and_are_not_lost(database: Database, database_url: str) -> None:
    take()
    JOBS.count("move", "done")
    write_tallies(database)
    with standing_still(database_url, lambda tx: tx.execute(sa.text("UPDATE tallies SET value = value"))):
        JOBS.count("move", "done")
        write_tallies(database)
    write_tallies(database)
    with database.snapshot() as tx:
        assert load_tallies(tx)["plimsoll_jobs_ended", ("move", "done")] == 2.0


def test_no_lane_fills_the_queue(database: Database) -> None:
    """A client with a hundred requests leaves the turns of other clients to them."""
    with database.write() as tx:
        many = [enqueue(tx, "assess", str(i), lane="greedy") for i in range(3 * LANE_JOBS_MAX)]
        one = enqueue(tx, "assess", "modest", lane="modest")
        free = [enqueue(tx, "move", f"region-{i}") for i in range(3 * LANE_JOBS_MAX)]
    first = [job_id for _, job_id in ticked(database)]
    assert first == [*many[:LANE_JOBS_MAX], one, *free]
    assert ticked(database) == [], "they wait for those before them"
    with database.write() as tx:
        job = claim_job(tx, many[0], worker="w", lease_s=30.0)
        assert job is not None
    assert ticked(database) == [], "one that runs has its turn still"
    with database.write() as tx:
        assert finish_job(tx, job)
        assert drop_queued(tx, "assess", "1")
    assert [job_id for _, job_id in ticked(database)] == many[LANE_JOBS_MAX : LANE_JOBS_MAX + 2]


def test_the_end_of_a_job_wakes_the_scheduler_for_its_lane(database: Database, database_url: str) -> None:
    with database.write() as tx:
        ids = [enqueue(tx, "assess", str(i), lane="greedy") for i in range(LANE_JOBS_MAX + 1)]
    ticked(database)
    with database.write() as tx:
        job = claim_job(tx, ids[0], worker="w", lease_s=30.0)
    assert job is not None
    with Wakeups(database_url, CHANNEL) as wakeups:
        with database.write() as tx:
            finish_job(tx, job)
        assert wakeups.wait(240.0)
