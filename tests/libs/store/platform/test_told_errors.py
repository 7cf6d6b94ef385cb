"""Rows keep only error texts that every viewer may read."""

from libs.domain.plan import SolveStatus
from libs.domain.policy import RegionPolicy
from libs.store.fleet.regions import create_region
from libs.store.plans.solve_runs import finish_solve_run, load_solve_run, start_solve_run
from libs.store.platform.database import Database
from libs.store.platform.errors import told
from libs.store.platform.jobs import claim_job, enqueue, fail_attempt
from tests.builders.jobs import load_job
from tests.libs.store.conftest import NOW

SECRETS = ("plim_AAAABBBBCCCC", "hidden")
ERROR = f"OperationalError: {SECRETS[0]} at postgresql://me:{SECRETS[1]}@db/x"


def test_what_is_told_has_no_secret_and_nothing_else_is_lost() -> None:
    assert told(None) is None
    assert told("MemoryError: as told") == "MemoryError: as told"
    assert told(ERROR) == "OperationalError: [redacted] at postgresql://[redacted]@db/x"


def test_runs_and_jobs_keep_no_secret(database: Database) -> None:
    with database.write() as tx:
        region_id = create_region(tx, "west", RegionPolicy(), now=NOW)
        run = start_solve_run(tx, region_id, trigger="test", seed=0, parent_plan_id=None, now=NOW)
        finish_solve_run(tx, run, SolveStatus.FAILED, now=NOW, error=ERROR)
        job = claim_job(tx, enqueue(tx, "k", "s"), worker="w", lease_s=30.0)
        assert job is not None
        fail_attempt(tx, job, ERROR, attempts_max=9)
        kept = [load_solve_run(tx, run).error, load_job(tx, job.job_id).error]
    assert kept == [told(ERROR)] * 2
