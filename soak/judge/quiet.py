"""Rules about the end: after the faults, the platform comes to rest by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from soak.history import History
from soak.judge.violation import Violation

_DECIDED = frozenset({"granted", "degraded", "rejected", "withdrawn", "awaiting_approval", "scheduled"})
_DATABASE = (
    "OperationalError|InterfaceError|InternalError|TimeoutError|DiskFull|AdminShutdown|CrashShutdown|CannotConnectNow"
)
_OF_THE_MACHINERY = re.compile(
    r"^the worker .* died or lost the database$"
    r"|^the worker ended before the solve did$"
    r"|^None of \d+ attempts came to an end;"
    r"|^(StaleGeneration|StalePlan)\b"  # another write was first, at the last of several tries
    rf"|^({_DATABASE}|LeaseLost|OSError)\b"
)
"""Errors that the injected faults or concurrent writes explain. Any other error is the platform's own."""
_LEASE_MARGIN_S = 20.0
"""Seconds between the end of a lease and a later message, after which a tick must have noticed the end.

A process that is stopped may lock the row of its job for 8 s, and ticks skip locked rows.
"""
_REFUSALS = ("BadInputs", "CostModel", "PlanRefused")
"""Reasons of failed plans that no input of the soak may lead to."""


def comes_to_rest(history: History) -> Iterator[Violation]:
    """The platform becomes quiet in time, every request is decided, and no assessment waits."""
    final = history.final
    if not final:
        return
    if final["quiet_s"] is None:
        yield Violation("comes_to_rest", f"it did not become quiet: {final['waits_for']}")
        return
    for request in final["capacity_requests"]:
        if request["status"]["phase"] not in _DECIDED:
            said = f"capacity request {request['capacity_request_id']} is {request['status']['phase']}"
            yield Violation("comes_to_rest", said)
    for job in final["jobs"]:
        if job["kind"] == "assess" and job["status"] not in ("failed", "superseded"):
            yield Violation("comes_to_rest", f"job {job['job_id']} ({job['kind']} {job['subject']}) is {job['status']}")


def jobs_fail_for_our_faults_only(history: History) -> Iterator[Violation]:
    """An attempt at a job fails for good, or leaves its work to the next job, only for a lost worker or database."""
    for job in history.final.get("jobs", []):
        if job["status"] in ("failed", "superseded") and not _OF_THE_MACHINERY.match(job["error"] or ""):
            said = f"job {job['job_id']} ({job['kind']} {job['subject']}) failed: {job['error']}"
            yield Violation("jobs_fail_for_our_faults_only", said)


def runs_fail_for_our_faults_only(history: History) -> Iterator[Violation]:
    """A solve, a simulation or a plan fails only for injected faults. Retries of jobs would hide its errors."""
    final = history.final
    for field in ("solve_run_id", "simulation_id", "plan_run_id"):
        for run in final.get(field.removesuffix("_id") + "s", []):
            error, reason = run.get("error") or "", run.get("reason")
            explained = reason not in (None, "Crashed", *_REFUSALS) or _OF_THE_MACHINERY.match(error)
            if run["status"] == "failed" and not explained:
                said = f"{field} {run[field]} failed: {reason or ''} {error}"
                yield Violation("runs_fail_for_our_faults_only", said)


def leases_are_taken_back(history: History) -> Iterator[Violation]:
    """No job stays with a worker that was silent for longer than its lease.

    Every tick takes such jobs back before it sends messages. So a message after the end of the lease shows that a tick
    has run.
    """
    said = "is held by a worker whose lease is over since"
    for seen in (*history.held, history.final):
        for job in seen.get("jobs", []):
            over_s = job.get("lease_over_s")
            if job["status"] == "running" and over_s is not None and over_s > seen["since_sent_s"] + _LEASE_MARGIN_S:
                about = f"job {job['job_id']} ({job['kind']} {job['subject']})"
                yield Violation("leases_are_taken_back", f"{about} {said} {over_s:.0f} s")
