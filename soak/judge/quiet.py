"""When the faults are over the platform comes to rest by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from soak.history import History
from soak.judge.violation import Violation

_DECIDED = frozenset({"granted", "degraded", "rejected", "withdrawn", "awaiting_approval", "scheduled"})
_OF_THE_MACHINERY = re.compile(
    r"^the worker .* died or lost the database$"
    r"|^(OperationalError|InterfaceError|InternalError|DiskFull|AdminShutdown|LeaseLost|TimeoutError|OSError)\b"
)
"""Errors of jobs that our faults explain; any other is the platform's own."""


def comes_to_rest(history: History) -> Iterator[Violation]:
    """It is quiet in time, every request is decided, no assessment waits."""
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
        if job["kind"] == "assess" and job["status"] != "failed":
            yield Violation("comes_to_rest", f"job {job['job_id']} ({job['kind']} {job['subject']}) is {job['status']}")


def jobs_fail_for_our_faults_only(history: History) -> Iterator[Violation]:
    """A job that failed for good lost its worker or the database: anything else is an error of its own."""
    for job in history.final.get("jobs", []):
        if job["status"] == "failed" and not _OF_THE_MACHINERY.match(job["error"] or ""):
            said = f"job {job['job_id']} ({job['kind']} {job['subject']}) failed: {job['error']}"
            yield Violation("jobs_fail_for_our_faults_only", said)
