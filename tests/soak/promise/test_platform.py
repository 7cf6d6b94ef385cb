"""The soak counts the jobs that raise errors, whether or not they have a row in the table of jobs."""

import random
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import sqlalchemy as sa

from libs.jobs.kinds import JobKind, JobRun
from libs.jobs.settings import WorkerSettings
from libs.reconcile.errors import StaleGeneration
from libs.store.platform.database import Database
from libs.store.platform.jobs import enqueue
from soak.promise.clock import SteppedClock
from soak.promise.platform import Platform, environment, given_environment


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
