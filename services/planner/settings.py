"""Read the planner's settings from the environment."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from pydantic import Field

from libs.carriers.portal_addresses import PortalSettings
from libs.jobs.settings import require_time_for
from libs.reconcile.call_retries import CallSettings
from libs.reconcile.environment import Settings
from services.planner.telemetry_settings import TelemetrySettings


class Weekday(StrEnum):
    """Days of the week, in the order of datetime.weekday()."""

    MONDAY = "monday"
    TUESDAY = "tuesday"
    WEDNESDAY = "wednesday"
    THURSDAY = "thursday"
    FRIDAY = "friday"
    SATURDAY = "saturday"
    SUNDAY = "sunday"


class CycleSettings(Settings):
    """The times at which plans are made, and the retention of their records. Short jobs need no other settings.

    plan_weekday, plan_hour   the time of the week at which the plan is made; the hour is in UTC
    executed_plans      number of past plans of which the executed share is measured
    history_kept_days   older runs are deleted with their plans, and so are inputs of that age
    """

    plan_weekday: Weekday = Field(default=Weekday.MONDAY, validation_alias="PLIMSOLL_PLAN_WEEKDAY")
    plan_hour: int = Field(default=2, ge=0, le=23, validation_alias="PLIMSOLL_PLAN_HOUR")
    executed_plans: int = Field(default=8, ge=1, le=1000, validation_alias="PLIMSOLL_PLAN_EXECUTED_PLANS")
    history_kept_days: int = Field(default=90, ge=1, le=3650, validation_alias="PLIMSOLL_HISTORY_KEPT_DAYS")


class PlannerSettings(CycleSettings):
    """Settings of plans: the measurements that a plan uses, its time limit, and the records kept of it.

    bundle_dir      a folder that outlives the process. Replay bundles go to its folder `world`
    bundles_max     number of replay bundles to keep, the newest
    window_days     number of whole days of measurements that a plan uses, the latest
    step_days       number of days that each step of a plan covers
    solve_s_max     real seconds for the linear programs of one plan
    headroom_excess_max   largest granted capacity beyond use and headroom without a finding, as a share of both
    plans_max       number of plans with documents and pictures, and of runs with models, to keep
    """

    bundle_dir: Path = Field(validation_alias="PLIMSOLL_BUNDLE_DIR")
    bundles_max: int = Field(default=12, ge=1, le=10_000, validation_alias="PLIMSOLL_PLAN_BUNDLES_MAX")
    window_days: int = Field(default=14, ge=1, le=366, validation_alias="PLIMSOLL_PLAN_WINDOW_DAYS")
    step_days: int = Field(default=7, ge=1, le=366, validation_alias="PLIMSOLL_PLAN_STEP_DAYS")
    solve_s_max: float = Field(default=1800.0, gt=0, le=86_400, validation_alias="PLIMSOLL_PLAN_SOLVE_S_MAX")
    headroom_excess_max: float = Field(
        default=0.25, ge=0, le=1000, validation_alias="PLIMSOLL_PLAN_HEADROOM_EXCESS_MAX"
    )
    plans_max: int = Field(default=104, ge=1, le=10_000, validation_alias="PLIMSOLL_PLANS_MAX")


def read_plan_settings() -> None:
    """Read all settings of plans. Raises ValidationError or ValueError for a wrong one."""
    require_time_for("PLIMSOLL_PLAN_SOLVE_S_MAX", PlannerSettings.from_environment().solve_s_max)
    PortalSettings().read()


def read_cycle_settings() -> None:
    """Read all settings of the planner's short jobs. Raises ValidationError or ValueError for a wrong one."""
    CycleSettings()
    TelemetrySettings()
    CallSettings()
