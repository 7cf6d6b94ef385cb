"""The tick, which handles due schedules, expired leases and unsent messages. Any number of ticks may run at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from structlog import get_logger

from libs.jobs.settings import JobSettings
from libs.observability.tallies import LEASES
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.store.platform.database import Database, Locked, briefly
from libs.store.platform.errors import UNAVAILABLE
from libs.store.platform.jobs import load_unsent, mark_sent, resend_after_s, take_back_expired
from libs.store.platform.schedules import advance_schedules, ensure_schedules
from libs.store.platform.tallies import write_tallies

log = get_logger(__name__)
_WAIT_S = 0.1


@dataclass(frozen=True, slots=True)
class Ticked:
    """The number of jobs that each step of a tick handled."""

    taken_back: int
    due: int
    sent: int


def tick(database: Database, clock: Clock, settings: JobSettings, send: Callable[[str, int, float], None]) -> Ticked:
    """Take back the jobs of dead workers, ask for due jobs, and send unsent messages.

    A hanging transaction elsewhere delays only the jobs whose rows it holds.

    send    called with kind, job id, and the seconds until the message expires
    """
    taken_back = _undisturbed(lambda: _take_back(database, settings), "take back")
    due = _undisturbed(lambda: _ask_for_due(database, clock, settings), "schedules")
    with database.snapshot() as tx:
        unsent = load_unsent(tx, resend_s=settings.job_resend_s)
    if unsent:
        crash_point("jobs.send.before")
        for job in unsent:
            send(job.kind, job.job_id, resend_after_s(settings.job_resend_s, job.sends))
        # Mark after sending: a crash in between sends twice, and the second message finds nothing to claim.
        crash_point("jobs.send.after")
        with database.write() as tx:
            mark_sent(tx, [job.job_id for job in unsent])
    write_tallies(database)
    return Ticked(taken_back, due, len(unsent))


def _undisturbed(step: Callable[[], int], name: str) -> int:
    """Return the result of the step; 0 if the database fails it, so that unsent messages are sent anyway."""
    try:
        return step()
    except UNAVAILABLE as error:
        log.warning("tick.step_failed", step=name, error=f"{type(error).__name__}: {error}")
        return 0


def _take_back(database: Database, settings: JobSettings) -> int:
    crash_point("jobs.take_back.before")
    with database.write() as tx:
        taken_back = take_back_expired(tx, attempts_max=settings.job_attempts_max)
    crash_point("jobs.take_back.after")
    for job in taken_back:
        LEASES.count(job.kind)
        log.warning("lease.expired", job_id=job.job_id, kind=job.kind, subject=job.subject, status=job.status.value)
    return len(taken_back)


def _ask_for_due(database: Database, clock: Clock, settings: JobSettings) -> int:
    crash_point("jobs.schedules.before")
    with suppress(Locked), database.write() as tx, briefly(tx, _WAIT_S):
        ensure_schedules(tx, settings.job_cycles, settings.job_world_cycles, now=clock.now())
    with database.write() as tx:
        due = advance_schedules(tx, now=clock.now())
    crash_point("jobs.schedules.after")
    return len(due)
