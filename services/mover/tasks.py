"""The mover's kinds of jobs."""

from __future__ import annotations

from libs.actuators.registry import create_actuator
from libs.jobs.kinds import JobRun, job
from libs.jobs.working import ServiceJobs
from libs.reconcile.call_retries import CallSettings
from libs.reconcile.jobs import DRAW_REPLACEMENTS, FORGET_HISTORY, MOVE, WATCH_RESERVATIONS
from libs.reconcile.settings import ClockSettings
from libs.store.moves.movers import note_actuator
from services.mover.reconcilers.advance_moves import AdvanceMoves
from services.mover.reconcilers.draw_replacements import DrawReplacements, LastDecisions
from services.mover.reconcilers.forget_history import ForgetHistory
from services.mover.reconcilers.watch_reservations import GAP_MAX, WatchReservations
from services.mover.settings import MoverSettings, read_job_settings

_LAST_DECISIONS = LastDecisions()


@job(MOVE, serves_many=True)
def move(run: JobRun) -> None:
    """Advance the moves of the region that is the subject. Without an actuator, only say so."""
    settings = MoverSettings()
    with run.database.write() as tx:
        note_actuator(tx, run.job.subject, settings.mover_actuator, now=run.clock.now())
    if settings.mover_actuator is None:
        return
    actuator = create_actuator(settings.mover_actuator, run.clock)
    AdvanceMoves(run.database, run.clock, actuator, settings.policy(CallSettings()), run.job.subject).reconcile()


@job(DRAW_REPLACEMENTS)
def draw_replacements(run: JobRun) -> None:
    """Replace the lost servers of a region."""
    DrawReplacements(run.database, run.clock, run.job.subject, _LAST_DECISIONS).reconcile()


@job(WATCH_RESERVATIONS)
def watch_reservations(run: JobRun) -> None:
    """Record the changes of the capacity that the reservations of a region hold."""
    gap_max = GAP_MAX * ClockSettings().clock_speed
    WatchReservations(run.database, run.clock, run.job.subject, gap_max).reconcile()


@job(FORGET_HISTORY)
def forget_history(run: JobRun) -> None:
    """Delete a region's old moves, old changes of targets and old records of readiness."""
    kept_days = MoverSettings().history_kept_days
    ForgetHistory(run.database, run.clock, run.job.subject, kept_days=kept_days).reconcile()


KINDS = (move, draw_replacements, watch_reservations, forget_history)
JOBS = ServiceJobs(kinds=KINDS, read_settings=read_job_settings)
