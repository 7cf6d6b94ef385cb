"""Operations of one key are one: a client that sends a key again wants nothing new."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from soak.history import History, Operation
from soak.judge.kinds import KINDS


def by_key(history: History, kinds: Collection[str] = KINDS.keys()) -> list[Operation]:
    """Operations of these kinds, those of one key as one; each that has no key stays alone."""
    found: dict[tuple[str, str | int], Operation] = {}
    for operation in history.operations:
        if operation.what in kinds:
            key = operation.client, operation.op if operation.key is None else operation.key
            known = found.get(key)
            found[key] = operation if known is None else replace(known, attempts=known.attempts + operation.attempts)
    return list(found.values())


def times_done(operation: Operation) -> tuple[int, int]:
    """How often a client was told that it was carried out, and how often it may have been."""
    possible = sum(not attempt.refused for attempt in operation.attempts)
    done = sum(attempt.done for attempt in operation.attempts)
    if KINDS[operation.what].keyed:
        return min(done, 1), min(possible, 1)
    return done, possible
