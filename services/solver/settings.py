"""Read the solver's settings from the environment."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from libs.jobs.settings import require_time_for
from libs.reconcile.environment import Settings


class SolverSettings(Settings):
    """The time limit of a solve, and the place of replay bundles.

    solve_s_max    real seconds; the answer is the best plan found by then
    bundle_dir     a folder that outlives the process
    bundles_max    replay bundles kept per region, the newest
    """

    solve_s_max: float = Field(default=1800.0, gt=0, le=3600, validation_alias="PLIMSOLL_SOLVE_S_MAX")
    bundle_dir: Path = Field(validation_alias="PLIMSOLL_BUNDLE_DIR")
    bundles_max: int = Field(default=48, ge=1, le=10_000, validation_alias="PLIMSOLL_BUNDLES_MAX")


def read_job_settings() -> None:
    """Read all settings of the solver's jobs. Raises ValidationError or ValueError for a wrong one."""
    require_time_for("PLIMSOLL_SOLVE_S_MAX", SolverSettings.from_environment().solve_s_max)
