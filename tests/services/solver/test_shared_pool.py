"""Two worker processes help with a solve, one of them is killed, and the plan is that of the solve alone."""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from libs.assignment import Answer, Pool, Subproblem, solve_subproblem
from libs.assignment.solvers.portfolio import alone, relaxation_by_columns
from libs.domain.fleet import FleetSnapshot
from libs.domain.job import Job, JobStatus
from libs.domain.plan import SolveStatus
from libs.domain.reservation import ReservationSpec
from libs.jobs.settings import JobSettings
from libs.jobs.shared_parts import SharedParts
from libs.ras.solve import plan_target_bindings
from libs.reconcile.clock import SystemClock
from libs.reconcile.jobs import SOLVE_PART
from libs.store.platform.database import Database
from libs.store.platform.jobs import list_jobs
from services.solver import shared_pool
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.settings import SolverSettings
from services.solver.shared_pool import SharedPool, answer_subproblem, solving_pool
from tests.builders.region import region_image
from tests.builders.stored import read, stored
from tests.crash.harness import JobProcesses, wait_until

pytestmark = pytest.mark.xdist_group("processes")
RESERVATIONS, MSBS, TYPES = 20, 6, ("hw-a", "hw-b")
HELD = 3
"""Parts that workers must answer before the solve goes on by itself."""


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


@pytest.fixture
def region(database: Database, monkeypatch: pytest.MonkeyPatch) -> FleetSnapshot:
    """A region whose relaxation has programs of some containers each, more than are held."""
    monkeypatch.setattr(relaxation_by_columns, "COUNTS", 0)
    monkeypatch.setattr(alone, "CONTAINERS", RESERVATIONS // (HELD + 2))
    rng = np.random.default_rng(5)
    image = region_image(
        msbs=MSBS,
        racks_per_msb=len(TYPES),
        servers_per_rack=6,
        hardware_types=TYPES,
        reservations={
            f"r{k:02d}": ReservationSpec(
                capacity_rru=float(rng.integers(1, 3)),
                rru={name: round(float(rng.uniform(0.7, 1.6)), 2) for name in TYPES},
            )
            for k in range(RESERVATIONS)
        },
    )
    return stored(database, image)


def parts_of(database: Database) -> list[Job]:
    with database.snapshot() as tx:
        return [job for job in list_jobs(tx, limit=1000).items if job.kind == SOLVE_PART]


@contextmanager
def one_thread(database: Database) -> Iterator[SharedParts]:
    with SharedParts(database, SOLVE_PART, wanted_s=30.0, threads=1) as parts:
        yield parts


def test_a_killed_worker_changes_nothing(
    database: Database,
    database_url: str,
    region: FleetSnapshot,
    settings: SolverSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = plan_target_bindings(region, seed=region.target_plan_id or 0)
    answered: list[SharedParts] = []
    held: set[int] = set()

    def workers_have_answered() -> bool:
        if not held or answered[0].elsewhere < HELD:
            return False
        return all(job.attempts > 1 for job in parts_of(database) if job.job_id in held)

    def after_the_workers(one: Subproblem, unwanted: Callable[[], bool]) -> Answer:
        """Take no part back while it waits for a worker again: its job would be deleted."""
        wait_until(lambda: unwanted() or workers_have_answered(), "workers have answered")
        return solve_subproblem(one, unwanted)

    @contextmanager
    def pool() -> Iterator[Pool]:
        with one_thread(database) as parts:
            answered.append(parts)
            yield SharedPool(parts)

    monkeypatch.setattr(shared_pool, "solve_subproblem", after_the_workers)
    folders = [tmp_path / name for name in ("victim", "survivor")]
    for folder in folders:
        folder.mkdir()
    queue = str(tmp_path / "queue")
    worker = "services.standalone.worker parts"
    env = {"PLIMSOLL_BROKER_DIR": queue, "PLIMSOLL_JOB_SLOTS": "1"}
    victim, survivor = (JobProcesses(folder, database_url, worker, **env) for folder in folders)
    with victim, survivor, ThreadPoolExecutor(1) as solving:
        survivor.start()
        wait_until(lambda: os.getpgid(survivor.pid("worker")) == survivor.pid("worker"), "it has a group")
        os.killpg(survivor.pid("worker"), signal.SIGSTOP)  # so that the other one is sure to get a part
        victim.start(PLIMSOLL_CRASH_AT="jobs.claim.after")
        solve = SolveBindings(database, SystemClock(), settings, region.region, "test", pool)
        status = solving.submit(solve.reconcile)
        wait_until(lambda: victim.exit_status("worker") is not None, "a worker dies with a part in its hands")
        held |= {job.job_id for job in parts_of(database) if job.attempts}
        os.killpg(survivor.pid("worker"), signal.SIGCONT)
        assert status.result() is SolveStatus.COMMITTED
        assert answered[0].elsewhere >= HELD
        wait_until(lambda: not any(job.status is JobStatus.RUNNING for job in parts_of(database)), "no part runs")
    again = [job for job in parts_of(database) if job.job_id in held]
    assert again, "a part was in its hands"
    assert all(job.attempts > 1 and job.status is JobStatus.DONE for job in again)
    assert np.array_equal(read(database).servers.target, alone.plan.target)


def test_shared_parts_give_the_plan_of_the_solve_alone(
    database: Database, region: FleetSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No worker runs. The switch alone changes no plan."""
    alone = plan_target_bindings(region, seed=3)
    for shared in ("true", "false"):
        monkeypatch.setenv("PLIMSOLL_JOB_PARTS_SHARED", shared)
        with solving_pool(database, JobSettings.from_environment()) as pool:
            assert (pool is not None) is (shared == "true")
            found = plan_target_bindings(region, seed=3, pool=pool)
        assert np.array_equal(found.plan.target, alone.plan.target)
        assert found.report.lower_bound == alone.report.lower_bound


def test_a_worker_whose_lease_is_lost_gives_no_answer(region: FleetSnapshot, database: Database) -> None:
    seen: list[bytes] = []

    class Recorded(SharedPool):
        def submit(self, one: Subproblem, cancelled: Callable[[], bool] | None = None) -> Future[Answer]:
            seen.append(shared_pool.write_subproblem(one))
            return super().submit(one, cancelled)

    with one_thread(database) as parts:
        plan_target_bindings(region, pool=Recorded(parts))
    assert len(seen) > HELD + 2, "the programs of one round"
    assert answer_subproblem(seen[0], lambda: False) is not None
    assert answer_subproblem(seen[0], lambda: True) is None
