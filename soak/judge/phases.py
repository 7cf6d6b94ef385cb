"""A rule about phases: a decision is final."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from soak.history import History
from soak.judge.answers import Seen, seen_rows
from soak.judge.violation import Violation

_DECIDED = {"granted", "degraded", "rejected", "withdrawn"}
_OPEN = {"submitted", "assessing", "awaiting_approval", "scheduled"}
_AFTER = dict.fromkeys(_OPEN, _OPEN | _DECIDED) | {
    "degraded": {"degraded", "granted"},
    "granted": {"granted"},
    "rejected": {"rejected"},
    "withdrawn": {"withdrawn"},
}
"""Phase -> phases that a later answer may show."""


def phases_go_forward(history: History) -> Iterator[Violation]:
    """A decision is final, except that a degraded request may still be granted."""
    by_request: dict[int | str, list[Seen]] = defaultdict(list)
    for seen in seen_rows(history):
        if seen.noun == "capacity request":
            by_request[seen.row_id].append(seen)
    for request_id, rows in by_request.items():
        rows.sort(key=lambda seen: seen.generation)
        for before, after in pairwise(rows):
            phases = before.row["status"]["phase"], after.row["status"]["phase"]
            if phases[1] not in _AFTER[phases[0]]:
                said = f"capacity request {request_id} was {phases[0]}, then {phases[1]}"
                yield Violation("phases_go_forward", said, (before.op, after.op))
