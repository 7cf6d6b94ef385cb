"""Settings of sending, leasing and running jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr

from libs.reconcile.environment import Settings, read_environment
from libs.reconcile.jobs import CYCLES, WORLD_CYCLES
from libs.reconcile.settings import ClockSettings
from libs.store.platform.settings import StoreSettings


class JobSettings(Settings):
    """Messages go through Redis (`broker_url`) or, embedded, through a folder (`broker_dir`). Durations are real time.

    job_lease_s        seconds without a renewal after which a worker has lost its job
    job_heartbeat_s    seconds between renewals by a working worker
    job_attempts_max   failed attempts after which a job has failed for good
    job_s_max          seconds after which an attempt counts as stuck: its process ends, and another attempt begins.
                       Keep it above the time limits of solves and plans, with time to load and to commit
    job_resend_s       seconds until a message that no worker took is sent again; the interval doubles each time. A job
                       that raised waits as long
    job_tick_s         longest delay until a due schedule or an expired lease is noticed
    job_slots          concurrent jobs of one worker
    job_process_jobs_max   jobs after which a worker replaces the process that ran them; None: never
    job_cycles         kind -> seconds on the Clock between its jobs for every region; JSON in the environment
    job_world_cycles   kind -> seconds on the Clock between its jobs that belong to no region
    job_parts_shared   whether a job offers parts of its work to workers of other machines
    alive_file         file that the process touches every few seconds while its loop turns; None: no file
    """

    broker_url: SecretStr | None = Field(default=None, validation_alias="PLIMSOLL_BROKER_URL")
    broker_dir: Path | None = Field(default=None, validation_alias="PLIMSOLL_BROKER_DIR")
    broker_poll_s: float = Field(default=0.05, gt=0, le=10, validation_alias="PLIMSOLL_BROKER_POLL_S")
    job_lease_s: float = Field(default=30.0, gt=0, le=3600, validation_alias="PLIMSOLL_JOB_LEASE_S")
    job_heartbeat_s: float = Field(default=5.0, gt=0, le=600, validation_alias="PLIMSOLL_JOB_HEARTBEAT_S")
    job_attempts_max: int = Field(default=5, ge=1, le=100, validation_alias="PLIMSOLL_JOB_ATTEMPTS_MAX")
    job_s_max: float = Field(default=14_400.0, gt=0, le=604_800, validation_alias="PLIMSOLL_JOB_S_MAX")
    job_resend_s: float = Field(default=10.0, gt=0, le=3600, validation_alias="PLIMSOLL_JOB_RESEND_S")
    job_tick_s: float = Field(default=0.5, gt=0, le=60, validation_alias="PLIMSOLL_JOB_TICK_S")
    job_slots: int = Field(default=2, ge=1, le=256, validation_alias="PLIMSOLL_JOB_SLOTS")
    job_process_jobs_max: int | None = Field(default=None, ge=1, validation_alias="PLIMSOLL_JOB_PROCESS_JOBS_MAX")
    job_cycles: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=lambda: dict(CYCLES), validation_alias="PLIMSOLL_JOB_CYCLES"
    )
    job_world_cycles: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=lambda: dict(WORLD_CYCLES), validation_alias="PLIMSOLL_JOB_WORLD_CYCLES"
    )
    job_parts_shared: bool = Field(default=False, validation_alias="PLIMSOLL_JOB_PARTS_SHARED")
    alive_file: Path | None = Field(default=None, validation_alias="PLIMSOLL_ALIVE_FILE")


class WorkerSettings(StoreSettings, ClockSettings, JobSettings):
    """The settings of a worker and of the scheduler."""


def require_time_for(variable: str, s_max: float) -> None:
    """Require attempts to last longer than the work in them, of which `variable` sets the longest time.

    Otherwise each long solve would end with its process, and begin again. Raises SystemExit with one line.
    """
    job_s_max = read_environment(JobSettings).job_s_max
    if job_s_max <= s_max:
        raise SystemExit(
            f"plimsoll: the environment is wrong: PLIMSOLL_JOB_S_MAX ({job_s_max:g} s) is not above {variable} "
            f"({s_max:g} s): set it well above, or lower {variable}"
        )
