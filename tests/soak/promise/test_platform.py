"""The soak counts the jobs that raise errors, with or without a row in the table of jobs, and those given up."""

import random
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import sqlalchemy as sa

from libs.jobs.kinds import JobKind, JobRun
from libs.jobs.settings import WorkerSettings
from libs.reconcile.environment import given_environment
from libs.reconcile.errors import StaleGeneration
from libs.store.platform.database import Database
from libs.store.platform.jobs import claim_job, enqueue, take_back_expired
from soak.promise.clock import SteppedClock
from soak.promise.platform import Platform, environment
from soak.promise.report import failed_for_good


def fail(run: JobRun) -> None:
    if run.job.kind == "assess":
        raise StaleGeneration("server", 1, expected=1, found=2)
    raise RuntimeError("it never works")


def test_errors_of_every_kind_of_job_are_counted(database_url: str, tmp_path: Path) -> None:
    kinds = {name: JobKind(name, fail) for name in ("solve", "assess", "refresh_unavailability", "move")}
    with (
        given_environment(environment(tmp_path, database_url, "{}", 60.0)),
        psycopg.connect(database_url, autocommit=True) as look,
        closing(Database(database_url)) as database,
    ):
        platform = Platform(
            url="",
            region="west",
            database=database,
            look=look,
            clock=SteppedClock(datetime.now(UTC)),
            settings=WorkerSettings(),  # type: ignore[call-arg]  # from the environment
            kinds=kinds,
            every_s={"refresh_unavailability": 60.0},
            chance=random.Random(1),
            kills=0.0,
            solve_takes_s=0.0,
        )
        with database.write() as tx:
            enqueue(tx, "solve", "west")
            enqueue(tx, "assess", "west")
        platform.tick(move=True)
        with database.snapshot() as tx:
            assert tx.execute(sa.text("SELECT count(*) FROM jobs WHERE error IS NOT NULL")).scalar_one() == 2
    assert platform.raised["move: RuntimeError"] == 1
    assert platform.raised["refresh_unavailability: RuntimeError"] == 1
    assert platform.raised["solve: RuntimeError"] >= 1
    assert set(platform.stale) == {"assess: StaleGeneration"}


def test_a_killed_job_counts_as_failed_only_if_no_other_does_its_work(database_url: str) -> None:
    """Both workers die at the first of at most two attempts. Another tick of the mover waits; no other solve does."""
    with closing(Database(database_url)) as database:
        for kind in ("move", "solve"):
            with database.write() as tx:
                job_id = enqueue(tx, kind, "west")
                assert claim_job(tx, job_id, worker="w", lease_s=-1.0) is not None
        with database.write() as tx:
            enqueue(tx, "move", "west")
        with database.write() as tx:
            take_back_expired(tx, attempts_max=2)
        with database.snapshot() as tx:
            statuses = tx.execute(sa.text("SELECT kind, status FROM jobs ORDER BY job_id")).tuples().all()
            assert statuses == [("move", "superseded"), ("solve", "queued"), ("move", "queued")]
            assert failed_for_good(tx) == {}
        with database.write() as tx:
            assert claim_job(tx, 2, worker="w", lease_s=-1.0) is not None
            take_back_expired(tx, attempts_max=2)
            assert failed_for_good(tx) == {"solve": 1}
