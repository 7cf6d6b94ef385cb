"""Join the operations that have the same idempotency key: a client that repeats a key asks for nothing new."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from soak.history import History, Operation
from soak.judge.kinds import KINDS


def by_key(history: History, kinds: Collection[str] = KINDS.keys()) -> list[Operation]:
    """Return the operations of the kinds `kinds`. Operations with the same key are joined into one. An operation
    without a key stays alone.
    """
    found: dict[tuple[str, str | int], Operation] = {}
    for operation in history.operations:
        if operation.what in kinds:
            key = operation.client, operation.op if operation.key is None else operation.key
            known = found.get(key)
            found[key] = operation if known is None else replace(known, attempts=known.attempts + operation.attempts)
    return list(found.values())


def times_done(operation: Operation) -> tuple[int, int]:
    """Return how often the client was told that the operation was done, and how often it may have been done."""
    possible = sum(not attempt.refused for attempt in operation.attempts)
    done = sum(attempt.done for attempt in operation.attempts)
    if KINDS[operation.what].keyed:
        return min(done, 1), min(possible, 1)
    return done, possible
