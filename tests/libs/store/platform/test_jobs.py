"""Test claims, leases and wake-ups, with two writers at once on a real database."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from libs.domain.job import Job, JobStatus
from libs.domain.policy import RegionPolicy
from libs.jobs.lease import Lease, LeaseLost
from libs.reconcile.jobs import WORLD
from libs.store.fleet.regions import create_region, list_regions
from libs.store.platform.database import Database
from libs.store.platform.jobs import (
    CHANNEL,
    claim_job,
    enqueue,
    fail_attempt,
    finish_job,
    load_unsent,
    mark_sent,
    purge_jobs,
    renew_lease,
    resend_after_s,
    take_back_expired,
)
from libs.store.platform.schedules import advance_schedules, ensure_schedules
from libs.store.platform.wakeups import Wakeups
from tests.builders.jobs import load_job
from tests.builders.race import elsewhere, meanwhile, race

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
EXPIRED_S = -1.0


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, pool_size=5)
    yield database
    database.close()


def ask(database: Database, subject: str = "s") -> int:
    with database.write() as tx:
        return enqueue(tx, "k", subject)


def claim(database: Database, job_id: int, *, lease_s: float = 30.0) -> Job:
    with database.write() as tx:
        job = claim_job(tx, job_id, worker="w", lease_s=lease_s)
    assert job is not None
    return job


def look(database: Database, job_id: int) -> Job:
    with database.snapshot() as tx:
        return load_job(tx, job_id)


def unsent(database: Database, resend_s: float = 10.0) -> list[int]:
    with database.snapshot() as tx:
        return [job.job_id for job in load_unsent(tx, resend_s=resend_s)]


def test_one_waits_and_one_runs(database: Database) -> None:
    first = ask(database)
    assert ask(database) == first
    claim(database, first)
    second = ask(database)
    assert second != first
    assert ask(database) == second
    with database.write() as tx:
        assert claim_job(tx, second, worker="w", lease_s=30.0) is None, "another one of its subject runs"
        assert claim_job(tx, first, worker="w", lease_s=30.0) is None, "it has begun"


def test_of_two_workers_one_gets_a_job(database: Database) -> None:
    job_id = ask(database)
    found = race(database, *[lambda tx: claim_job(tx, job_id, worker="w", lease_s=30.0)] * 3)
    assert sum(isinstance(job, Job) for job in found) == 1
    assert found.count(None) == 2


def test_whoever_claims_a_job_sees_what_was_written_with_the_wish_for_it(database: Database) -> None:
    """Otherwise a job that has just read its input would count as the one that sees the new input."""
    job_id = ask(database)

    def claim_and_look(tx):
        assert claim_job(tx, job_id, worker="w", lease_s=30.0) is not None
        return elsewhere(region_names)

    def region_names():
        with database.snapshot() as later:
            return [region.name for region in list_regions(later).items]

    def write_and_ask(tx):
        create_region(tx, "new", RegionPolicy(), now=NOW)
        return enqueue(tx, "k", "s")

    seen, asked = meanwhile(database, write_and_ask, claim_and_look)
    assert asked == job_id
    assert seen == ["new"]


def test_asking_wakes_whoever_listens_and_only_on_commit(database: Database, database_url: str) -> None:
    with Wakeups(database_url, CHANNEL) as wakeups:
        with database.write() as tx:
            enqueue(tx, "k", "s")
            assert not wakeups.wait(0.1)
        assert wakeups.wait(240.0)
        assert not wakeups.wait(0.1)


def test_each_message_is_waited_for_twice_as_long_as_the_one_before(database: Database) -> None:
    """Otherwise a queue longer than the workers' throughput in that time would hold only expired messages, forever."""
    job_id = ask(database)
    for sends, wait_s in ((1, 10), (2, 20), (3, 40)):
        with database.write() as tx:
            mark_sent(tx, [job_id])
        assert resend_after_s(10.0, sends - 1) == wait_s, "it is good for as long as it is waited for"
        for sent_s_ago, expected in ((wait_s - 1, []), (wait_s + 1, [job_id])):
            with database.write() as tx:
                tx.execute(sa.text("UPDATE jobs SET sent_at = now() - make_interval(secs => :s)"), {"s": sent_s_ago})
            assert unsent(database, resend_s=10.0) == expected
    assert look(database, job_id).sends == 3
    assert resend_after_s(10.0, 1000) == resend_after_s(10.0, 8), "but there is an end to it"


def test_a_message_is_sent_once_and_again_when_it_must_be_lost(database: Database) -> None:
    job_id = ask(database)
    assert unsent(database) == [job_id]
    with database.write() as tx:
        mark_sent(tx, [job_id])
    assert unsent(database) == []
    assert unsent(database, resend_s=0.0) == [job_id]
    job = claim(database, job_id)
    waiting = ask(database)
    assert unsent(database, resend_s=0.0) == [], "it cannot run yet"
    with database.write() as tx:
        mark_sent(tx, [waiting])
        assert finish_job(tx, job)
    assert unsent(database) == [waiting], "its message may have been turned away"


def test_an_expired_lease_is_taken_back_and_its_holder_told(database: Database) -> None:
    job = claim(database, ask(database), lease_s=EXPIRED_S)
    with database.write() as tx:
        (taken,) = take_back_expired(tx, attempts_max=3)
    assert taken.status is JobStatus.QUEUED
    again = claim(database, job.job_id)
    assert again.attempts == 2
    with database.write() as tx:
        assert not renew_lease(tx, job, lease_s=30.0)
        assert not finish_job(tx, job)
        assert not fail_attempt(tx, job, "late", attempts_max=3)
        assert renew_lease(tx, again, lease_s=30.0)
    assert look(database, job.job_id).status is JobStatus.RUNNING
    with Lease(database, job, lease_s=30.0, heartbeat_s=0.01) as lease:
        lease._thread.join(240.0)
        with pytest.raises(LeaseLost):
            lease.check()


def test_a_lease_that_is_renewed_is_not_taken_back(database: Database) -> None:
    job = claim(database, ask(database), lease_s=EXPIRED_S)
    with database.write() as tx:
        assert renew_lease(tx, job, lease_s=30.0)
        assert take_back_expired(tx, attempts_max=3) == ()


def test_attempts_are_bounded_whether_a_job_raises_or_its_worker_dies(database: Database) -> None:
    job_id = ask(database)
    for attempt in (1, 2, 3, 4):
        job = claim(database, job_id, lease_s=EXPIRED_S)
        assert job.attempts == attempt
        with database.write() as tx:
            if attempt % 2:
                assert fail_attempt(tx, job, "ValueError: no", attempts_max=4)
            else:
                take_back_expired(tx, attempts_max=4)
    ended = look(database, job_id)
    assert ended.status is JobStatus.FAILED
    assert "died" in (ended.error or "")
    assert ended.finished_at is not None


def test_a_job_that_raised_waits_before_it_is_sent_again(database: Database) -> None:
    job = claim(database, ask(database))
    with database.write() as tx:
        fail_attempt(tx, job, "no", attempts_max=2)
    assert unsent(database) == []
    assert unsent(database, resend_s=0.0) == [job.job_id]


@pytest.mark.parametrize("raised", [True, False])
def test_the_one_that_waits_takes_over_from_one_that_did_not_finish(database: Database, raised: bool) -> None:
    job = claim(database, ask(database), lease_s=EXPIRED_S)
    waiting = ask(database)
    with database.write() as tx:
        if raised:
            fail_attempt(tx, job, "no", attempts_max=9)
        else:
            take_back_expired(tx, attempts_max=9)
    assert look(database, job.job_id).status is JobStatus.SUPERSEDED, "its work is not left undone"
    assert unsent(database) == [waiting]


def test_one_that_spent_all_of_its_attempts_has_failed_even_if_another_waits(database: Database) -> None:
    job = claim(database, ask(database), lease_s=EXPIRED_S)
    ask(database)
    with database.write() as tx:
        (taken,) = take_back_expired(tx, attempts_max=1)
    assert (taken.job_id, taken.status) == (job.job_id, JobStatus.FAILED)


def test_a_superseded_job_is_forgotten_like_one_that_is_done(database: Database) -> None:
    job = claim(database, ask(database), lease_s=EXPIRED_S)
    ask(database)
    with database.write() as tx:
        fail_attempt(tx, job, "no", attempts_max=9)
        assert purge_jobs(tx, done_s=60.0, failed_s=60.0) == 0
    with database.write() as tx:
        assert purge_jobs(tx, done_s=-1.0, failed_s=60.0) == 1


def test_asking_while_an_expired_lease_is_taken_back_leaves_one_that_waits(database: Database) -> None:
    job = claim(database, ask(database), lease_s=EXPIRED_S)
    found, asked = meanwhile(
        database, lambda tx: enqueue(tx, "k", "s"), lambda tx: take_back_expired(tx, attempts_max=9)
    )
    assert found == ()
    assert unsent(database) == [], "the one that runs is taken back by the next tick"
    with database.write() as tx:
        take_back_expired(tx, attempts_max=9)
    assert look(database, job.job_id).status is JobStatus.SUPERSEDED
    assert unsent(database) == [asked]


def test_old_jobs_are_forgotten_and_others_are_not(database: Database) -> None:
    done, queued = claim(database, ask(database)), ask(database, "other")
    with database.write() as tx:
        finish_job(tx, done)
        assert purge_jobs(tx, done_s=60.0, failed_s=60.0) == 0
    with database.write() as tx:
        assert purge_jobs(tx, done_s=-1.0, failed_s=60.0) == 1
    assert look(database, queued).status is JobStatus.QUEUED


def test_a_schedule_that_was_due_several_times_runs_once(database: Database) -> None:
    with database.write() as tx:
        create_region(tx, "r", RegionPolicy(), now=NOW)
        ensure_schedules(tx, {"k": 60.0}, now=NOW)
        assert len(advance_schedules(tx, now=NOW)) == 1
        assert advance_schedules(tx, now=NOW + timedelta(seconds=59)) == ()
        assert len(advance_schedules(tx, now=NOW + timedelta(seconds=60 * 100 + 1))) == 1
        assert advance_schedules(tx, now=NOW + timedelta(seconds=60 * 101 - 1)) == ()
        assert len(advance_schedules(tx, now=NOW + timedelta(seconds=60 * 101))) == 1


def test_a_clock_that_went_back_does_not_stop_a_schedule(database: Database) -> None:
    with database.write() as tx:
        create_region(tx, "r", RegionPolicy(), now=NOW)
        ensure_schedules(tx, {"k": 60.0}, now=NOW)
        assert len(advance_schedules(tx, now=NOW)) == 1
        back = NOW - timedelta(hours=1)
        assert len(advance_schedules(tx, now=back)) == 1
        assert advance_schedules(tx, now=back + timedelta(seconds=59)) == ()
        assert len(advance_schedules(tx, now=back + timedelta(seconds=60))) == 1


def test_a_cycle_of_no_region_runs_without_any_and_once_for_all_that_it_missed(database: Database) -> None:
    with database.write() as tx:
        ensure_schedules(tx, {"k": 60.0}, {"k": 60.0}, now=NOW)
        [asked] = advance_schedules(tx, now=NOW)
        assert advance_schedules(tx, now=NOW + timedelta(seconds=59)) == ()
        assert advance_schedules(tx, now=NOW + timedelta(seconds=60 * 10)) == (asked,)
        assert load_job(tx, asked).subject == WORLD
        ensure_schedules(tx, {}, {"k": 5.0}, now=NOW + timedelta(seconds=60 * 10))
        assert advance_schedules(tx, now=NOW + timedelta(seconds=60 * 10 + 5)) == (asked,)


def test_of_two_schedulers_one_advances_a_schedule(database: Database) -> None:
    with database.write() as tx:
        create_region(tx, "r", RegionPolicy(), now=NOW)
        ensure_schedules(tx, {"k": 60.0}, now=NOW)
    found = race(database, *[lambda tx: advance_schedules(tx, now=NOW)] * 3)
    assert sorted(map(len, found)) == [0, 0, 1]
