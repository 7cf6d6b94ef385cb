"""Read the planner's settings from the environment."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from pydantic import Field

from libs.reconcile.environment import Settings


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
    """When plans are made, and how long their records are kept. Short jobs need no more than this.

    plan_weekday, plan_hour   when the week's plan is made; the hour is UTC
    executed_plans      past plans whose executed share is measured
    history_kept_days   older runs are deleted with their plans, and so are inputs of that age
    """

    plan_weekday: Weekday = Field(default=Weekday.MONDAY, validation_alias="PLIMSOLL_PLAN_WEEKDAY")
    plan_hour: int = Field(default=2, ge=0, le=23, validation_alias="PLIMSOLL_PLAN_HOUR")
    executed_plans: int = Field(default=8, ge=1, le=1000, validation_alias="PLIMSOLL_PLAN_EXECUTED_PLANS")
    history_kept_days: int = Field(default=90, ge=1, le=3650, validation_alias="PLIMSOLL_HISTORY_KEPT_DAYS")


class PlannerSettings(CycleSettings):
    """The measurements behind a plan, its time limit, and the records kept of it.

    bundle_dir      a folder that outlives the process; replay bundles go to `world` in it
    bundles_max     replay bundles kept, the newest
    window_days     whole days of measurements behind a plan, the latest
    step_days       days that each step of a plan covers
    solve_s_max     real seconds for the linear programs of one plan
    plans_max       number of plans with documents and pictures, and of runs with models, to keep
    """

    bundle_dir: Path = Field(validation_alias="PLIMSOLL_BUNDLE_DIR")
    bundles_max: int = Field(default=12, ge=1, le=10_000, validation_alias="PLIMSOLL_PLAN_BUNDLES_MAX")
    window_days: int = Field(default=14, ge=1, le=366, validation_alias="PLIMSOLL_PLAN_WINDOW_DAYS")
    step_days: int = Field(default=7, ge=1, le=366, validation_alias="PLIMSOLL_PLAN_STEP_DAYS")
    solve_s_max: float = Field(default=1800.0, gt=0, le=86_400, validation_alias="PLIMSOLL_PLAN_SOLVE_S_MAX")
    plans_max: int = Field(default=104, ge=1, le=10_000, validation_alias="PLIMSOLL_PLANS_MAX")
