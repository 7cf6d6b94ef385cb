"""Run jobs through real processes: worker, scheduler, messages in a folder, PostgreSQL."""

import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from libs.domain.job import Job, JobStatus
from libs.domain.policy import RegionPolicy
from libs.store.fleet.regions import create_region
from libs.store.platform.database import Database
from libs.store.platform.jobs import enqueue
from libs.store.platform.schedules import ensure_schedules
from tests.builders.jobs import load_job
from tests.crash.harness import JobProcesses, wait_until

pytestmark = pytest.mark.xdist_group("processes")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, pool_size=3)
    yield database
    database.close()


@pytest.fixture
def processes(tmp_path: Path, database_url: str) -> Iterator[JobProcesses]:
    done = tmp_path / "done"
    done.mkdir()
    with JobProcesses(
        tmp_path, database_url, "tests.libs.jobs.worker", PLIMSOLL_TEST_DIR=str(done), PLIMSOLL_JOB_ATTEMPTS_MAX="3"
    ) as processes:
        yield processes


def ask(database: Database, kind: str, subject: str) -> int:
    with database.write() as tx:
        return enqueue(tx, kind, subject)


def look(database: Database, job_id: int) -> Job:
    with database.snapshot() as tx:
        return load_job(tx, job_id)


def runs(tmp_path: Path, kind: str) -> int:
    return sum(1 for _ in (tmp_path / "done").glob(f"{kind}-*"))


def test_jobs_are_done_once_retried_and_scheduled(database: Database, processes: JobProcesses, tmp_path: Path) -> None:
    asked = [ask(database, "quick", f"s{i}") for i in range(20)]  # before any worker runs
    raising = ask(database, "raises", "s")
    with database.write() as tx:
        create_region(tx, "r", RegionPolicy(), now=datetime.now(UTC))
        ensure_schedules(tx, {"waits": 1.0}, now=datetime.now(UTC))
    processes.start()
    wait_until(lambda: all(look(database, i).status is JobStatus.DONE for i in asked), "all are done")
    assert runs(tmp_path, "quick") == 20
    later = ask(database, "quick", "later")
    wait_until(lambda: look(database, later).status is JobStatus.DONE, "one asked for later is done")
    wait_until(lambda: look(database, raising).status is JobStatus.FAILED, "one that raises has failed")
    assert look(database, raising).error == "ValueError: as told"
    assert look(database, raising).attempts == runs(tmp_path, "raises") == 3
    wait_until(lambda: runs(tmp_path, "waits") == 1, "the schedule's first run began")
    (tmp_path / "done" / "go").touch()
    wait_until(lambda: runs(tmp_path, "waits") >= 3, "the schedule goes on")


def test_kill_9_of_a_whole_worker_loses_nothing(database: Database, processes: JobProcesses, tmp_path: Path) -> None:
    processes.start()
    held = ask(database, "waits", "s")
    wait_until(lambda: runs(tmp_path, "waits") == 1, "it began")
    waiting = ask(database, "waits", "s")
    assert waiting != held
    processes.kill()
    assert look(database, held).status is JobStatus.RUNNING
    (tmp_path / "done" / "go").touch()
    processes.start()
    # The job requested meanwhile takes over, because doing both would repeat the work.
    wait_until(lambda: look(database, waiting).status is JobStatus.DONE, "it was taken over and done")
    assert look(database, held).status is JobStatus.SUPERSEDED
    assert "died" in (look(database, held).error or "")
    alone = ask(database, "waits", "alone")
    wait_until(lambda: look(database, alone).status is JobStatus.DONE, "all is well")


def test_a_stuck_attempt_ends_and_another_begins(database: Database, processes: JobProcesses, tmp_path: Path) -> None:
    """Its thread renews the lease, so nothing else would end it."""
    processes.start(PLIMSOLL_JOB_S_MAX="3")
    stuck = ask(database, "waits", "s")
    wait_until(lambda: runs(tmp_path, "waits") >= 2, "another attempt began")
    (tmp_path / "done" / "go").touch()
    wait_until(lambda: look(database, stuck).status is not JobStatus.RUNNING, "it has ended")
    after = ask(database, "quick", "s")
    wait_until(lambda: look(database, after).status is JobStatus.DONE, "the worker goes on")
    assert look(database, stuck).attempts > 1
    assert "in waits" in (tmp_path / "worker.log").read_text(), "the stacks tell where it was"


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_kill_9_of_the_worker_alone_leaves_no_orphan(
    database: Database, processes: JobProcesses, tmp_path: Path
) -> None:
    processes.start()
    ask(database, "waits", "s")
    wait_until(lambda: runs(tmp_path, "waits") == 1, "it began")
    worker = processes.pid("worker")
    pool = Path(f"/proc/{worker}/task/{worker}/children").read_text().split()
    assert pool
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: not any(alive(pid) for pid in pool), "its pool has ended")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_a_worker_whose_idle_pool_process_is_killed_does_not_stand_still(
    database: Database, processes: JobProcesses
) -> None:
    """A process killed while it waits for a job leaves the queue's lock behind. The next one would wait forever."""
    processes.start()
    first = ask(database, "quick", "first")
    wait_until(lambda: look(database, first).status is JobStatus.DONE, "all is well")
    worker = processes.pid("worker")
    for pid in Path(f"/proc/{worker}/task/{worker}/children").read_text().split():
        os.kill(int(pid), signal.SIGKILL)
    wait_until(lambda: processes.exit_status("worker") is not None, "the worker has ended")
    processes.kill("worker")
    processes.start()
    second = ask(database, "quick", "second")
    wait_until(lambda: look(database, second).status is JobStatus.DONE, "the next one works")


def alive(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_job_of_a_killed_worker_is_done_by_the_next(
    database: Database, processes: JobProcesses, tmp_path: Path
) -> None:
    processes.start()
    held = ask(database, "waits", "s")
    wait_until(lambda: runs(tmp_path, "waits") == 1, "it began")
    processes.kill()
    processes.start()
    wait_until(lambda: runs(tmp_path, "waits") == 2, "it began again")
    (tmp_path / "done" / "go").touch()
    wait_until(lambda: look(database, held).status is JobStatus.DONE, "it is done")
    assert look(database, held).attempts == 2
