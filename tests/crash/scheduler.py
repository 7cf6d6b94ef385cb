"""A scheduler for tests: `python -m tests.crash.scheduler`."""

from libs.jobs.processes import run_scheduler
from libs.jobs.settings import WorkerSettings
from libs.observability.logs import configure_logging

configure_logging("scheduler")
run_scheduler(WorkerSettings())
