"""Rules about answers alone: the answers to one or several clients must be consistent over time."""

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
    "region": ("name", "policy"),
    "approval": ("approval_id", "causes"),
    "retirement": ("retirement_id", "due_at"),
    "import": ("import_id", "counts"),
    "token": ("token_id", "role"),
    "move": ("move_id", "steps"),
    "execution": ("plan_execution_id", "terms"),
    "capacity event": ("capacity_event_id", "achieved"),
}
"""Noun -> field with its id, and a field that distinguishes its rows from other rows that name it."""
_WRITTEN = {
    "capacity request": ("status", "spec", "reservation_id", "owner"),
    "reservation": ("spec", "owner", "name", "deleted_at"),
    "server": ("current_reservation", "target_reservation", "in_use", "host_profile", "unavailability"),
    "event": ("ends_at", "ended_at", "scope", "scope_name"),
    "region": ("policy",),
    "approval": ("status", "change", "decided_by"),
    "retirement": ("status", "due_at"),
    "import": ("status", "counts"),
    "token": ("role", "owners", "revoked_at"),
    "move": ("status", "step", "attempt", "dead_letter"),
    "execution": ("state", "terms", "finished_at"),
    "capacity event": ("status", "achieved", "effect"),
}
"""Noun -> fields of the row itself, which change only together with its generation."""
_LISTS = {
    "capacity request": ("capacity_requests",),
    "reservation": ("reservations", "deleted_reservations"),
    "server": ("servers",),
    "event": ("events",),
    "region": ("regions",),
    "approval": ("approvals",),
    "retirement": ("retirements",),
    "import": ("imports",),
    "token": ("tokens",),
    "move": ("moves",),
    "execution": ("plan_executions",),
    "capacity event": ("capacity_events",),
}
"""Noun -> lists of the final record that contain it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A row that an answer showed. The row had this state at some moment between the request and the answer."""

    noun: str
    row_id: int | str
    generation: int
    row: Json
    began_s: float
    ended_s: float
    op: int


def no_internal_error(history: History) -> Iterator[Violation]:
    """No answer has the status 500. Under a fault of the machinery, the API answers 503 or not at all."""
    for operation in history.operations:
        for attempt in operation.attempts:
            if attempt.status == 500:
                said = (
                    f"{operation.what} {operation.method} {operation.path} at {attempt.began_s:.2f} s: {attempt.body}"
                )
                yield Violation("no_internal_error", said, (operation.op,))


def one_key_one_answer(history: History) -> Iterator[Violation]:
    """All attempts with one key get the same answer, once one has succeeded.

    A refusal does not use up the key, so a later attempt may succeed. After a success, every answer is equal to it. 429
    is not a refusal: it asks the client to try again.
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
            if attempt.refused and attempt.status != 429 and attempt.began_s > first.ended_s:
                said = f"{client} {operation.what} {key}: done, and sent again answered {attempt.status}"
                yield Violation("one_key_one_answer", f"{said} {_short(attempt.body)}", ops)


def generations_only_grow(history: History) -> Iterator[Violation]:
    """A request that is sent after an answer shows the same generation of a row, or a later one."""
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
    """A generation of a row has one state: two answers with the same generation show the same values."""
    for rows in _by_row(history).values():
        first: dict[int, Seen] = {}
        for seen in rows:
            known = first.setdefault(seen.generation, seen)
            for name in _WRITTEN[seen.noun]:
                if name in known.row and name in seen.row and known.row[name] != seen.row[name]:
                    said = f"{seen.noun} {seen.row_id} at generation {seen.generation}: {name} is "
                    said += f"{_short(known.row[name])} and {_short(seen.row[name])}"
                    yield Violation("same_generation_same_row", said, (known.op, seen.op))


def shown_is_found(history: History) -> Iterator[Violation]:
    """An object in an answer exists from then on: objects with an address of their own never disappear."""
    shown: dict[str, Seen] = {}
    for seen in seen_rows(history):
        path = f"/v1/{_LISTS[seen.noun][0].replace('_', '-')}/{seen.row_id}"
        if seen.ended_s < shown.setdefault(path, seen).ended_s:
            shown[path] = seen
    for operation in history.operations:
        first = shown.get(operation.path)
        for attempt in operation.attempts:
            if first is not None and attempt.status == 404 and attempt.began_s > first.ended_s:
                said = (
                    f"{operation.path} was shown at {first.ended_s:.2f} s, and is not there at {attempt.began_s:.2f} s"
                )
                yield Violation("shown_is_found", said, (first.op, operation.op))


def _by_row(history: History) -> dict[tuple[str, int | str], list[Seen]]:
    found: dict[tuple[str, int | str], list[Seen]] = defaultdict(list)
    for seen in seen_rows(history):
        found[seen.noun, seen.row_id].append(seen)
    return found


def seen_rows(history: History) -> Iterator[Seen]:
    """Yield every row in an answer, except in replays, which are as old as the first answer.

    Then yield every row that was read at the end, under operation 0.
    """
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
    at_s = history.final.get("at_s", 0.0)
    for noun, lists in _LISTS.items():
        for row in (row for name in lists for row in history.final.get(name, [])):
            yield Seen(noun, row[_KEYS[noun][0]], row["generation"], row, at_s, at_s, 0)


def _noun(row: Any) -> str | None:
    if isinstance(row, dict):
        for noun, fields in _KEYS.items():
            if all(field in row for field in fields):
                return noun
    return None


def _short(value: Any) -> str:
    return json.dumps(value)[:160]
