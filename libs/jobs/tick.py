"""What keeps jobs going: due schedules, expired leases, messages to send. Any number of ticks may run at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from libs.jobs.settings import JobSettings
from libs.observability.tallies import LEASES, take
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.store.database import Database
from libs.store.jobs import load_unsent, mark_sent, resend_after_s, take_back_expired
from libs.store.schedules import advance_schedules, advance_world_schedules, ensure_schedules, ensure_world_schedules
from libs.store.tallies import add_tallies

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Ticked:
    """How many jobs each step of a tick concerned."""

    taken_back: int
    due: int
    sent: int


def tick(database: Database, clock: Clock, settings: JobSettings, send: Callable[[str, int, float], None]) -> Ticked:
    """Take back what dead workers held, ask for what is due, send what is to be sent.

    send    (kind, job id, seconds for which the message is good)
    """
    crash_point("jobs.take_back.before")
    with database.write() as tx:
        taken_back = take_back_expired(tx, attempts_max=settings.job_attempts_max)
        for job in taken_back:
            LEASES.count(job.kind)
        add_tallies(tx, take())
    crash_point("jobs.take_back.after")
    for job in taken_back:
        _log.warning("lease expired", job_id=job.job_id, kind=job.kind, subject=job.subject, status=job.status.value)
    crash_point("jobs.schedules.before")
    with database.write() as tx:
        ensure_schedules(tx, settings.job_cycles, now=clock.now())
        ensure_world_schedules(tx, settings.job_world_cycles, now=clock.now())
        due = (*advance_schedules(tx, now=clock.now()), *advance_world_schedules(tx, now=clock.now()))
    crash_point("jobs.schedules.after")
    with database.snapshot() as tx:
        unsent = load_unsent(tx, resend_s=settings.job_resend_s)
    if unsent:
        crash_point("jobs.send.before")
        for job in unsent:
            send(job.kind, job.job_id, resend_after_s(settings.job_resend_s, job.sends))
        # Marked after sending: a crash in between sends twice, and the second message finds nothing to claim.
        crash_point("jobs.send.after")
        with database.write() as tx:
            mark_sent(tx, [job.job_id for job in unsent])
    return Ticked(len(taken_back), len(due), len(unsent))
