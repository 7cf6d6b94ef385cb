"""Celery beat with our tick instead of its timetable.

The timetable is in PostgreSQL and follows the injected Clock. The tick must not wait for a free worker, so beat runs it
itself and sends no message for it.
"""

from __future__ import annotations

import time

from celery.beat import Scheduler
from kombu.exceptions import OperationalError as BrokerError
from structlog import get_logger

from libs.jobs.alive import AliveFile
from libs.jobs.app import send
from libs.jobs.settings import WorkerSettings
from libs.jobs.tick import tick
from libs.store.platform.database import Database
from libs.store.platform.errors import UNAVAILABLE
from libs.store.platform.job_parts import purge_parts
from libs.store.platform.jobs import CHANNEL, purge_jobs
from libs.store.platform.wakeups import Wakeups

log = get_logger(__name__)
_PURGE_S = 3600.0
_DONE_KEPT_S, _FAILED_KEPT_S = 86_400.0, 30 * 86_400.0
_TROUBLE = (*UNAVAILABLE, BrokerError, OSError)


class TickScheduler(Scheduler):  # type: ignore[misc]  # celery has no types
    """Ticks at least every `job_tick_s` seconds. Ticks also when a job is asked for, and when a job ends for which
    another job waits.
    """

    def setup_schedule(self) -> None:
        """Connect to the database. Beat calls it once, in the process that ticks."""
        self._settings = WorkerSettings.from_environment()
        self._database = Database.from_settings(self._settings)
        self._clock = self._settings.clock()
        self._wakeups: Wakeups | None = None
        self._purge_at = 0.0
        self._alive = AliveFile(self._settings.alive_file)

    def tick(self) -> float:
        """Tick, and wait for the next reason to tick. Return the seconds that beat should sleep: above 0 only after an
        error.
        """
        self._alive.touch()
        try:
            self._tick()
            if self._wakeups is None:
                self._wakeups = Wakeups(self._settings.database_url.get_secret_value(), CHANNEL)
                return 0.0  # a job may have been asked for before it listened
            self._wakeups.wait(self._settings.job_tick_s)
        except _TROUBLE as error:
            log.warning("tick.failed", error=f"{type(error).__name__}: {error}")
            self._stop_listening()
            return self._settings.job_tick_s
        return 0.0

    def close(self) -> None:
        """Close the connections when beat ends."""
        self._stop_listening()
        self._database.close()

    def _tick(self) -> None:
        done = tick(
            self._database,
            self._clock,
            self._settings,
            lambda kind, job_id, expires_s: send(self.app, kind, job_id, expires_s=expires_s),
        )
        if done.sent or done.taken_back:
            log.debug("tick.done", sent=done.sent, due=done.due, taken_back=done.taken_back)
        if time.monotonic() >= self._purge_at:
            with self._database.write() as tx:
                purge_jobs(tx, done_s=_DONE_KEPT_S, failed_s=_FAILED_KEPT_S)
                purge_parts(tx)
            self._purge_at = time.monotonic() + _PURGE_S

    def _stop_listening(self) -> None:
        if self._wakeups is not None:
            self._wakeups.__exit__(None, None, None)
            self._wakeups = None
