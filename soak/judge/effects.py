"""Rules about what came of writes: an acknowledged one is there once, a refused one is not, any other at most once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from soak.history import History, Json, Operation
from soak.judge.violation import Violation

_TRAIL: Mapping[str, tuple[str, str, str]] = {
    "create": ("submit", "capacity_request", "capacity_request_id"),
    "resize": ("submit", "capacity_request", "capacity_request_id"),
    "delete": ("submit", "capacity_request", "capacity_request_id"),
    "withdraw": ("withdraw", "capacity_request", "capacity_request_id"),
    "open_event": ("open", "unavailability_event", "unavailability_event_id"),
}
"""Kind of operation -> action and noun on the audit trail, and where its answer has the id."""


def done_is_kept(history: History) -> Iterator[Violation]:
    """What a client was told is done can be read at the end."""
    final = history.final
    if not final:
        yield Violation("done_is_kept", "the run has no end: nothing was read back")
        return
    kept: dict[str, dict[int, Json]] = {
        "capacity_request_id": {row["capacity_request_id"]: row for row in final["capacity_requests"]},
        "unavailability_event_id": {row["unavailability_event_id"]: row for row in final["events"]},
    }
    regions = {row["name"]: row for row in final["regions"]}
    for operation in history.operations:
        done = operation.done
        if done is None:
            continue
        for key, rows in kept.items():
            if operation.what in _TRAIL and key in done.body:
                row = rows.get(done.body[key])
                if row is None or row["generation"] < done.body["generation"]:
                    said = f"{operation.client} was told of {key} {done.body[key]} at generation "
                    said += f"{done.body['generation']}: it is {'gone' if row is None else row['generation']}"
                    yield Violation("done_is_kept", said, (operation.op,))
                elif "spec" in done.body and row["spec"] != done.body["spec"]:
                    said = f"capacity request {done.body[key]} asked for something else than was acknowledged"
                    yield Violation("done_is_kept", said, (operation.op,))
        if operation.what == "withdraw" and kept["capacity_request_id"].get(
            done.body["capacity_request_id"], {"status": {"phase": None}}
        )["status"]["phase"] not in ("withdrawn", None):
            said = f"capacity request {done.body['capacity_request_id']} was withdrawn and is not"
            yield Violation("done_is_kept", said, (operation.op,))
        if operation.what == "end_event":
            event = kept["unavailability_event_id"].get(done.body["unavailability_event_id"])
            if event is None or event["ended_at"] is None:
                said = f"event {done.body['unavailability_event_id']} was ended and is open"
                yield Violation("done_is_kept", said, (operation.op,))
        if operation.what == "import" and operation.path.split("/")[3] not in regions:
            yield Violation("done_is_kept", f"region {operation.path} was imported and is gone", (operation.op,))


def done_at_most_once(history: History) -> Iterator[Violation]:
    """However often a key was sent: once where it was acknowledged, never where it was refused, else at most once.

    Requests are counted by what they ask of which reservation: a create by its name, which no client uses twice, any
    other by the reservation and the generation that it rests on.
    """
    if not history.final:
        return
    made: Counter[str] = Counter(_asked(request) for request in history.final["capacity_requests"])
    done: dict[str, set[int]] = defaultdict(set)
    possible: dict[str, set[int]] = defaultdict(set)
    for operation in (*_by_key(history, "create"), *_by_key(history, "resize"), *_by_key(history, "delete")):
        effect = _wanted(operation)
        possible[effect].update({operation.op} if any(not attempt.refused for attempt in operation.attempts) else ())
        done[effect].update({operation.op} if operation.done is not None else ())
    for effect in possible.keys() | made.keys():
        if not len(done[effect]) <= made[effect] <= len(possible[effect]):
            said = f"{effect}: {len(done[effect])} keys were told that it is done, {len(possible[effect])} may have "
            yield Violation("done_at_most_once", f"{said}been; it was done {made[effect]} times", (*possible[effect],))


def done_is_on_the_trail(history: History) -> Iterator[Violation]:
    """Each acknowledged write is on the audit trail, once, under the name of whoever asked."""
    if not history.final:
        return
    trail: Counter[tuple[Any, ...]] = Counter(
        (entry["actor"], entry["action"], entry["subject_kind"], entry["subject_id"])
        for entry in history.final["audit"]
    )
    for operation in history.operations:
        done = operation.done
        if done is None or operation.what not in _TRAIL:
            continue
        action, noun, key = _TRAIL[operation.what]
        found = trail[operation.client, action, noun, done.body[key]]
        if found != 1:
            said = f"{operation.client} did {operation.what} {noun} {done.body[key]}: {found} entries on the trail"
            yield Violation("done_is_on_the_trail", said, (operation.op,))
    in_use: Counter[tuple[Any, ...]] = Counter()
    for entry in history.final["audit"]:
        if entry["action"] == "set_in_use":
            in_use[entry["actor"], entry["subject_id"]] += 1
    said_so: Counter[tuple[Any, ...]] = Counter()
    possible: Counter[tuple[Any, ...]] = Counter()
    for operation in _by_key(history, "set_in_use"):
        for server in operation.body["servers"]:
            said_so[operation.client, server["server_id"]] += operation.done is not None
            possible[operation.client, server["server_id"]] += not all(a.refused for a in operation.attempts)
    for change in possible.keys() | in_use.keys():
        if not said_so[change] <= in_use[change] <= possible[change]:
            said = f"{change[0]} set in_use of server {change[1]}: told so {said_so[change]} times, possibly "
            said += f"{possible[change]}; {in_use[change]} entries on the trail"
            yield Violation("done_is_on_the_trail", said)


def deletes_stay_deleted(history: History) -> Iterator[Violation]:
    """Whoever asks after a delete was acknowledged finds the reservation deleted, for ever."""
    deleted: dict[int, float] = {}
    for operation in history.operations:
        done = operation.done
        if operation.what == "delete" and done is not None and done.ended_s is not None:
            deleted[done.body["reservation_id"]] = done.ended_s
    for operation in history.operations:
        if operation.what != "get_reservation":
            continue
        for attempt in operation.attempts:
            row = attempt.body if attempt.done else None
            if row and row["deleted_at"] is None and attempt.began_s > deleted.get(row["reservation_id"], 1e18):
                said = f"reservation {row['reservation_id']} was deleted, and is there at {attempt.began_s:.2f} s"
                yield Violation("deletes_stay_deleted", said, (operation.op,))
    for row in history.final.get("reservations", []):
        if row["reservation_id"] in deleted and row["deleted_at"] is None:
            yield Violation("deletes_stay_deleted", f"reservation {row['reservation_id']} was deleted, and is there")


def _by_key(history: History, what: str) -> list[Operation]:
    """Operations of a kind, those of one key as one."""
    found: dict[Any, Operation] = {}
    for operation in history.operations:
        if operation.what == what:
            known = found.get((operation.client, operation.key))
            attempts = operation.attempts if known is None else known.attempts + operation.attempts
            merged = {name: getattr(operation, name) for name in Operation.__dataclass_fields__}
            found[operation.client, operation.key] = Operation(**{**merged, "attempts": attempts})
    return list(found.values())


def _asked(request: Json) -> str:
    if request["kind"] == "create":
        return f"create {request['reservation']}"
    return f"{request['kind']} {request['reservation_id']} at generation {request['reservation_generation']}"


def _wanted(operation: Operation) -> str:
    if operation.what == "create":
        return f"create {operation.body['name']}"
    return f"{operation.what} {operation.path.split('/')[3]} at generation {operation.generation}"
