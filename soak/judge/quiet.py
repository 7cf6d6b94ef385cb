"""When the faults are over the platform comes to rest by itself."""

from __future__ import annotations

from collections.abc import Iterator

from soak.history import History
from soak.judge.violation import Violation

_DECIDED = frozenset({"granted", "degraded", "rejected", "withdrawn"})


def comes_to_rest(history: History) -> Iterator[Violation]:
    """It is quiet in time, every request is decided, no assessment waits."""
    final = history.final
    if not final:
        return
    if final["quiet_s"] is None:
        yield Violation("comes_to_rest", f"it did not become quiet: {final['waits_for']}")
    for request in final["capacity_requests"]:
        if request["status"]["phase"] not in _DECIDED:
            said = f"capacity request {request['capacity_request_id']} is {request['status']['phase']}"
            yield Violation("comes_to_rest", said)
    for job in final["jobs"]:
        if job["kind"] == "assess" and job["status"] != "failed":
            yield Violation("comes_to_rest", f"job {job['job_id']} ({job['kind']} {job['subject']}) is {job['status']}")
