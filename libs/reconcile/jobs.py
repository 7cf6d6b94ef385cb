"""Every kind of job: its name, the kind of its subject, how often it runs, and which worker runs it.

Tasks, stores and the scheduler take a kind's name from here. Nothing else spells one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

SOLVE = "solve"
SHADOW_SOLVE = "shadow_solve"
SIMULATE = "simulate"
SOLVE_PART = "solve_part"
MOVE = "move"
DRAW_REPLACEMENTS = "draw_replacements"
WATCH_RESERVATIONS = "watch_reservations"
FORGET_HISTORY = "forget_history"
ASSESS = "assess"
ENQUEUE_ASSESSMENTS = "enqueue_assessments"
ADVANCE_WINDOWS = "advance_windows"
FORGET_IDEMPOTENCY_KEYS = "forget_idempotency_keys"
FORGET_SESSIONS = "forget_sessions"
FORGET_AUDIT = "forget_audit"
REFRESH_UNAVAILABILITY = "refresh_unavailability"
FINISH_RETIREMENTS = "finish_retirements"
PLAN = "plan"
SCHEDULE_PLAN = "schedule_plan"
SUM_SPANS = "sum_spans"
SUM_SPANS_PART = "sum_spans_part"
PULL_METRICS = "pull_metrics"
FORGET_TELEMETRY = "forget_telemetry"
FORGET_PLANNING = "forget_planning"
ADVANCE_EXECUTIONS = "advance_executions"
REMIND_APPROVALS = "remind_approvals"

WORLD = "world"
"""The subject of jobs that belong to no region."""

_MINUTE_S, _HOUR_S, _DAY_S = 60.0, 3600.0, 86_400.0


class Subject(StrEnum):
    """The kind of thing that a job is about."""

    REGION = "region"
    WORLD = "world"
    CAPACITY_REQUEST = "capacity_request"
    SIMULATION = "simulation"
    JOB_PART = "job_part"


class Worker(StrEnum):
    """The worker of `standalone` that runs a job.

    Solves and plans take minutes, and must not delay requests. Requests come in bursts, and must not delay
    replacements. Parts of jobs are for workers of other machines, so `standalone` starts none on its own.
    """

    SOLVER = "solver"
    PLANNER = "planner"
    MOVER = "mover"
    OTHERS = "others"
    PARTS = "parts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """One kind of job.

    every_s   seconds on the Clock between two runs for the same subject; None: it runs on demand only
    lane      True: a job names its owner as its lane, so that owners take turns
    """

    name: str
    subject: Subject
    every_s: float | None = None
    lane: bool = False
    worker: Worker = Worker.OTHERS


_REGION, _WORLD = Subject.REGION, Subject.WORLD

LOOPS: Mapping[str, Loop] = MappingProxyType(
    {
        loop.name: loop
        for loop in (
            Loop(name=SOLVE, subject=_REGION, every_s=_HOUR_S, worker=Worker.SOLVER),
            Loop(name=SHADOW_SOLVE, subject=_REGION, worker=Worker.SOLVER),
            Loop(name=SIMULATE, subject=Subject.SIMULATION, worker=Worker.SOLVER),
            Loop(name=SOLVE_PART, subject=Subject.JOB_PART, worker=Worker.PARTS),
            Loop(name=MOVE, subject=_REGION, every_s=5.0, worker=Worker.MOVER),
            Loop(name=DRAW_REPLACEMENTS, subject=_REGION, every_s=_MINUTE_S, worker=Worker.MOVER),
            Loop(name=WATCH_RESERVATIONS, subject=_REGION, every_s=5.0, worker=Worker.MOVER),
            Loop(name=FORGET_HISTORY, subject=_REGION, every_s=_DAY_S, worker=Worker.MOVER),
            Loop(name=ASSESS, subject=Subject.CAPACITY_REQUEST, lane=True),
            Loop(name=ENQUEUE_ASSESSMENTS, subject=_REGION, every_s=_MINUTE_S),
            Loop(name=ADVANCE_WINDOWS, subject=_REGION, every_s=_MINUTE_S),
            Loop(name=FORGET_IDEMPOTENCY_KEYS, subject=_REGION, every_s=_HOUR_S),
            Loop(name=REFRESH_UNAVAILABILITY, subject=_REGION, every_s=_MINUTE_S),
            Loop(name=FINISH_RETIREMENTS, subject=_REGION, every_s=_MINUTE_S),
            Loop(name=PLAN, subject=_WORLD, worker=Worker.PLANNER),
            Loop(name=SCHEDULE_PLAN, subject=_WORLD, every_s=_HOUR_S),
            Loop(name=SUM_SPANS, subject=_WORLD, every_s=15.0),
            Loop(name=SUM_SPANS_PART, subject=Subject.JOB_PART, worker=Worker.PARTS),
            Loop(name=PULL_METRICS, subject=_WORLD, every_s=_MINUTE_S),
            Loop(name=FORGET_SESSIONS, subject=_WORLD, every_s=_HOUR_S),
            Loop(name=FORGET_AUDIT, subject=_WORLD, every_s=_DAY_S),
            Loop(name=FORGET_TELEMETRY, subject=_WORLD, every_s=_HOUR_S),
            Loop(name=FORGET_PLANNING, subject=_WORLD, every_s=_DAY_S),
            Loop(name=ADVANCE_EXECUTIONS, subject=_WORLD, every_s=10.0),
            Loop(name=REMIND_APPROVALS, subject=_WORLD, every_s=_MINUTE_S),
        )
    }
)
"""Every kind of job, by its name."""


def _cycles(subject: Subject) -> dict[str, float]:
    return {one.name: one.every_s for one in LOOPS.values() if one.subject is subject and one.every_s is not None}


CYCLES: Mapping[str, float] = MappingProxyType(_cycles(Subject.REGION))
"""Periodic kind -> seconds on the Clock between its runs for each region."""
WORLD_CYCLES: Mapping[str, float] = MappingProxyType(_cycles(Subject.WORLD))
"""Periodic kind -> seconds on the Clock between its runs, for jobs that belong to no region."""
