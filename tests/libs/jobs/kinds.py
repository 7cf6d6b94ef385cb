"""Define job kinds for tests. Each run leaves a file in the folder PLIMSOLL_TEST_DIR."""

import os
import time
import uuid
from pathlib import Path

from libs.jobs.kinds import JobRun, job


def leave(run: JobRun) -> None:
    (Path(os.environ["PLIMSOLL_TEST_DIR"]) / f"{run.job.kind}-{run.job.subject}-{uuid.uuid4().hex}").touch()


@job("quick")
def quick(run: JobRun) -> None:
    leave(run)


@job("raises")
def raises(run: JobRun) -> None:
    leave(run)
    raise ValueError("as told")


@job("waits")
def waits(run: JobRun) -> None:
    """Wait for a file `go`."""
    leave(run)
    while not (Path(os.environ["PLIMSOLL_TEST_DIR"]) / "go").exists():
        run.lease.check()
        time.sleep(0.02)


KINDS = (quick, raises, waits)
