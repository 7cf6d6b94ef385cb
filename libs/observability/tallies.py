"""Counts of processes without a /metrics endpoint, written to the database when a job ends.

The pool processes of a worker come and go, one per solve, so Prometheus cannot scrape them. Each process counts in
memory and adds its counts to a table after each job. Any API process serves the sums. A killed process loses the counts
of one job, and no count is added twice.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 1800.0, 3600.0)

Key = tuple[str, tuple[str, ...]]
"""Name of a sample, and the values of its labels."""


@dataclass(frozen=True, slots=True)
class Tally:
    """A counter or, with `buckets`, a histogram. Each label takes few values, and no client can invent one."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    def count(self, *labels: str, by: float = 1.0) -> None:
        """Add to the counter."""
        _add({(self.name, labels): by})

    def observe(self, value: float, *labels: str) -> None:
        """Add one value to the histogram."""
        within = {(f"{self.name}_bucket", (*labels, f"{le:g}")): 1.0 for le in self.buckets if value <= le}
        _add({**within, (f"{self.name}_count", labels): 1.0, (f"{self.name}_sum", labels): value})


ASSESSMENTS = Tally("plimsoll_assessments", "Capacity requests decided", ("outcome", "reason"))
ASSESSMENT_S = Tally(
    "plimsoll_assessment_seconds",
    "From asking to the decision, on the Clock",
    buckets=(0.5, 1, 2.5, 5, 10, 30, 60, 300),
)
SOLVES = Tally("plimsoll_solves", "Solve runs that ended", ("region", "outcome", "stopped_by"))
SOLVE_S = Tally("plimsoll_solve_seconds", "Real time of a solve, its commit included", ("region",), SECONDS)
MOVE_STEPS = Tally("plimsoll_move_steps", "Attempts at steps of moves that ended", ("step", "outcome"))
CALLS = Tally("plimsoll_actuator_calls", "Calls to the actuator by how they ended", ("region", "outcome"))
REPLACEMENTS = Tally("plimsoll_replacements", "Lost servers that changed places with a spare one", ("region",))
RESERVATION_S = Tally(
    "plimsoll_reservation_seconds",
    "Time of guaranteed reservations on the Clock, by whether they held what they ask for or lost what was granted",
    ("region", "state"),
)
MOVES = Tally("plimsoll_moves_ended", "Moves that ended", ("outcome", "reason"))
STALE = Tally("plimsoll_stale_commits", "Commits that found the world changed, and were taken back", ("loop",))
JOBS = Tally("plimsoll_jobs_ended", "Attempts at jobs that ended", ("kind", "outcome"))
JOB_S = Tally("plimsoll_job_seconds", "Real time of an attempt at a job", ("kind",), SECONDS)
LEASES = Tally("plimsoll_leases_expired", "Jobs whose worker died or lost the database", ("kind",))
PLAN_RUNS = Tally("plimsoll_plan_runs", "Plan runs that ended", ("outcome", "reason"))
PLAN_RUN_S = Tally("plimsoll_plan_run_seconds", "Real time of an attempt at a plan run", buckets=SECONDS)
SPANS = Tally("plimsoll_spans_settled", "Spans that wait no longer, by what became of them", ("outcome",))
REMINDERS = Tally("plimsoll_approval_reminders", "Reminders of approvals by what became of them", ("outcome",))
FORGOTTEN = Tally("plimsoll_rows_forgotten", "Rows deleted after their retention", ("table",))
PULLS = Tally("plimsoll_metric_pulls", "Hours of metric sources that were asked of Prometheus", ("outcome",))

TALLIES: Sequence[Tally] = (
    ASSESSMENTS,
    ASSESSMENT_S,
    SOLVES,
    SOLVE_S,
    MOVE_STEPS,
    MOVES,
    STALE,
    JOBS,
    JOB_S,
    LEASES,
    CALLS,
    REPLACEMENTS,
    RESERVATION_S,
    PLAN_RUNS,
    PLAN_RUN_S,
    SPANS,
    PULLS,
    REMINDERS,
    FORGOTTEN,
)

_lock = threading.Lock()
_gathered: dict[Key, float] = defaultdict(float)


def take() -> dict[Key, float]:
    """Return the counts since the last call, and reset them. The caller writes them to the database."""
    with _lock:
        taken = dict(_gathered)
        _gathered.clear()
    return taken


def put_back(taken: Mapping[Key, float]) -> None:
    """Add the taken counts again, after they could not be written."""
    _add(taken)


def _add(values: Mapping[Key, float]) -> None:
    with _lock:
        for key, value in values.items():
            _gathered[key] += value
