"""Settings of sending, leasing and running jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator

from libs.reconcile.environment import Settings
from libs.reconcile.jobs import CYCLES, WORLD_CYCLES
from libs.reconcile.settings import ClockSettings
from libs.store.platform.settings import StoreSettings

CYCLE_S_MAX = 366 * 86_400.0
"""Longest period of a job, in seconds on the Clock."""
SCHEMES = ("redis", "rediss", "sentinel")


def _of_redis(url: SecretStr) -> SecretStr:
    """Return the address if it is one of Redis. Raises ValueError without it: it may contain a password."""
    if urlsplit(url.get_secret_value()).scheme not in SCHEMES:
        raise ValueError("expected the address of a Redis, such as redis://:password@host:6379/0")
    return url


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

    broker_url: Annotated[SecretStr, AfterValidator(_of_redis)] | None = Field(
        default=None, validation_alias="PLIMSOLL_BROKER_URL"
    )
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
    job_cycles: dict[str, Annotated[float, Field(gt=0, le=CYCLE_S_MAX)]] = Field(
        default_factory=lambda: dict(CYCLES), validation_alias="PLIMSOLL_JOB_CYCLES"
    )
    job_world_cycles: dict[str, Annotated[float, Field(gt=0, le=CYCLE_S_MAX)]] = Field(
        default_factory=lambda: dict(WORLD_CYCLES), validation_alias="PLIMSOLL_JOB_WORLD_CYCLES"
    )
    job_parts_shared: bool = Field(default=False, validation_alias="PLIMSOLL_JOB_PARTS_SHARED")
    alive_file: Path | None = Field(default=None, validation_alias="PLIMSOLL_ALIVE_FILE")


class WorkerSettings(StoreSettings, ClockSettings, JobSettings):
    """The settings of a process that runs jobs, also of one that gets them without a message."""


class MessageSettings(WorkerSettings):
    """The settings of a worker and of the scheduler, which need a way for messages: a broker or a folder."""

    @model_validator(mode="after")
    def _has_a_broker(self) -> Self:
        if (self.broker_url is None) == (self.broker_dir is None):
            which = "neither of" if self.broker_url is None else "both of"
            raise ValueError(
                f"{which} PLIMSOLL_BROKER_URL and PLIMSOLL_BROKER_DIR {'is' if self.broker_url is None else 'are'} "
                "set: name a Redis that all workers and schedulers reach, such as redis://queue:6379/0, or a folder "
                "that they share on one machine"
            )
        return self


def require_time_for(variable: str, s_max: float) -> None:
    """Require attempts to last longer than the work in them, of which `variable` sets the longest time.

    Otherwise each long solve would end with its process, and begin again. Raises ValueError.
    """
    job_s_max = JobSettings().job_s_max
    if job_s_max <= s_max:
        raise ValueError(
            f"PLIMSOLL_JOB_S_MAX ({job_s_max:g} s) is not above {variable} ({s_max:g} s): set it well above, or lower "
            f"{variable}"
        )
