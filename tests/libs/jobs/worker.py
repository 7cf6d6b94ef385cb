"""Run a worker of the kinds in kinds.py: `python -m tests.libs.jobs.worker`."""

from libs.jobs.processes import run_worker
from libs.jobs.settings import WorkerSettings
from libs.observability.logs import configure_logging
from tests.libs.jobs.kinds import KINDS

configure_logging("worker")
run_worker(WorkerSettings(), KINDS)
