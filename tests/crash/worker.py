"""A worker for tests: `python -m tests.crash.worker MODULE ...`, each with its job kinds in KINDS."""

import importlib
import sys

from libs.jobs.processes import run_worker
from libs.jobs.settings import WorkerSettings
from libs.observability.logs import configure_logging

configure_logging("worker")
run_worker(WorkerSettings(), [kind for name in sys.argv[1:] for kind in importlib.import_module(name).KINDS])
