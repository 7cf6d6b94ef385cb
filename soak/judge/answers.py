"""Rules about answers alone: what one client or several were told must fit together in time."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from soak.history import History, Json
from soak.judge.violation import Violation

_KEYS = {
    "capacity request": ("capacity_request_id", "requested_by"),
    "reservation": ("reservation_id", "status"),
    "server": ("server_id", "in_use"),
    "event": ("unavailability_event_id", "starts_at"),
}
"""Noun -> the field with its id, and one that tells it from other rows that name it."""
_WRITTEN = {
    "capacity request": ("status", "spec", "reservation_id", "owner"),
    "reservation": ("spec", "owner", "name", "deleted_at"),
    "server": ("current_reservation", "target_reservation", "in_use", "host_profile", "unavailability"),
    "event": ("ends_at", "ended_at", "scope", "scope_name"),
}
"""Noun -> the fields that are the row's own: they change with its generation and never without."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A row as an answer showed it: at some moment between the sending of the request and the answer."""

    noun: str
    row_id: int
    generation: int
    row: Json
    began_s: float
    ended_s: float
    op: int


def no_internal_error(history: History) -> Iterator[Violation]:
    """No fault of the machinery is a reason for our code to break: it answers 503, or nothing."""
    for operation in history.operations:
        for attempt in operation.attempts:
            if attempt.status == 500:
                said = (
                    f"{operation.what} {operation.method} {operation.path} at {attempt.began_s:.2f} s: {attempt.body}"
                )
                yield Violation("no_internal_error", said, (operation.op,))


def one_key_one_answer(history: History) -> Iterator[Violation]:
    """Whoever sends a key again is told the same: what was done stays done, what was refused may yet be done once.

    A refusal keeps no key, so a later attempt may succeed; after a success there is that answer and no other.
    """
    by_key: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for operation in history.operations:
        if operation.key is not None:
            by_key[operation.client, operation.key] += [(attempt, operation) for attempt in operation.attempts]
    for (client, key), sent in by_key.items():
        done = [(attempt, operation) for attempt, operation in sent if attempt.done]
        if not done:
            continue
        first, of = min(done, key=lambda pair: pair[0].ended_s)
        for attempt, operation in sent:
            ops = (of.op, operation.op)
            if attempt.done and (attempt.status, attempt.body) != (first.status, first.body):
                said = f"{client} {operation.what} {key}: answered {_short(first.body)}, then {_short(attempt.body)}"
                yield Violation("one_key_one_answer", said, ops)
            if attempt.refused and attempt.began_s > first.ended_s:
                said = f"{client} {operation.what} {key}: done, and sent again answered {attempt.status}"
                yield Violation("one_key_one_answer", f"{said} {_short(attempt.body)}", ops)


def generations_only_grow(history: History) -> Iterator[Violation]:
    """Whoever asks after an answer has come is shown that generation of the row, or a later one."""
    for rows in _by_row(history).values():
        latest: Seen | None = None
        answered = sorted(rows, key=lambda seen: seen.ended_s)
        asked = sorted(rows, key=lambda seen: seen.began_s)
        at = 0
        for seen in asked:
            while at < len(answered) and answered[at].ended_s < seen.began_s:
                if latest is None or answered[at].generation > latest.generation:
                    latest = answered[at]
                at += 1
            if latest is not None and seen.generation < latest.generation:
                said = f"{seen.noun} {seen.row_id}: generation {latest.generation} at {latest.ended_s:.2f} s, then "
                said += f"{seen.generation} asked for at {seen.began_s:.2f} s"
                yield Violation("generations_only_grow", said, (latest.op, seen.op))


def same_generation_same_row(history: History) -> Iterator[Violation]:
    """A generation names one state of a row: two answers with the same one show the same."""
    for rows in _by_row(history).values():
        first: dict[int, Seen] = {}
        for seen in rows:
            known = first.setdefault(seen.generation, seen)
            for name in _WRITTEN[seen.noun]:
                if name in known.row and name in seen.row and known.row[name] != seen.row[name]:
                    said = f"{seen.noun} {seen.row_id} at generation {seen.generation}: {name} is "
                    said += f"{_short(known.row[name])} and {_short(seen.row[name])}"
                    yield Violation("same_generation_same_row", said, (known.op, seen.op))


def _by_row(history: History) -> dict[tuple[str, int], list[Seen]]:
    found: dict[tuple[str, int], list[Seen]] = defaultdict(list)
    for seen in seen_rows(history):
        found[seen.noun, seen.row_id].append(seen)
    return found


def seen_rows(history: History) -> Iterator[Seen]:
    """Every row that an answer showed, but those that a replay repeats: they are as old as the first answer."""
    for operation in history.operations:
        for attempt in operation.attempts:
            if not attempt.done or attempt.replayed or attempt.ended_s is None:
                continue
            body = attempt.body
            rows = body.get("items", [body]) if isinstance(body, dict) else []
            for row in rows:
                noun = _noun(row)
                if noun is not None and row.get("generation") is not None:
                    row_id = row[_KEYS[noun][0]]
                    yield Seen(noun, row_id, row["generation"], row, attempt.began_s, attempt.ended_s, operation.op)


def _noun(row: Any) -> str | None:
    if isinstance(row, dict):
        for noun, fields in _KEYS.items():
            if all(field in row for field in fields):
                return noun
    return None


def _short(value: Any) -> str:
    return json.dumps(value)[:160]
