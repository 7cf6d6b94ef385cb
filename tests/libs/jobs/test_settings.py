"""The settings of jobs agree with those of the work in them, or the worker does not start."""

from pathlib import Path

import pytest

from libs.jobs.working import ServiceJobs
from services.planner import plan_tasks
from services.solver import tasks


@pytest.mark.parametrize(
    ("jobs", "variable"),
    [(tasks.JOBS, "PLIMSOLL_SOLVE_S_MAX"), (plan_tasks.JOBS, "PLIMSOLL_PLAN_SOLVE_S_MAX")],
)
def test_a_job_may_take_longer_than_its_solve(
    jobs: ServiceJobs, variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PLIMSOLL_BUNDLE_DIR", str(tmp_path))
    monkeypatch.setenv("PLIMSOLL_JOB_S_MAX", "600")
    monkeypatch.setenv(variable, "600")
    said = rf"PLIMSOLL_JOB_S_MAX \(600 s\) is not above {variable} \(600 s\): set it well above, or lower {variable}$"
    with pytest.raises(ValueError, match=said):
        jobs.read_settings()
    monkeypatch.setenv(variable, "599")
    jobs.read_settings()
