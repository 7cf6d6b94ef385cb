"""Rules about effects: an acknowledged write has one effect, a refused write has no effect, and any other write has at
most one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from functools import reduce
from typing import Any

from soak.history import History, Json, Operation
from soak.judge.by_key import by_key
from soak.judge.kinds import KINDS
from soak.judge.violation import Violation

_MAKES_REQUESTS = ("create", "create_window", "resize", "delete")


def done_is_kept(history: History) -> Iterator[Violation]:
    """An acknowledged write can be read at the end: its row exists, is not older, and has the values required."""
    final = history.final
    if not final:
        yield Violation("done_is_kept", "the run has no end: nothing was read back")
        return
    rows: dict[tuple[str, str], dict[Any, Json]] = {}
    for operation in history.operations:
        kind, done = KINDS.get(operation.what), operation.done
        if kind is None or kind.rows is None or done is None:
            continue
        listed, field = kind.rows
        if kind.rows not in rows:
            rows[kind.rows] = {row[field]: row for row in final[listed]}
        row_id = done.body[field]
        row, about = rows[kind.rows].get(row_id), f"{operation.client} did {operation.what}: {field} {row_id}"
        if row is None and kind.kept is not None and len(final[listed]) >= kind.kept:
            continue
        if row is None:
            yield Violation("done_is_kept", f"{about} is gone", (operation.op,))
            continue
        if kind.version is not None and row[kind.version] < done.body.get(kind.version, 0):
            said = f"{about} is at {row[kind.version]}, and was at {done.body[kind.version]}"
            yield Violation("done_is_kept", said, (operation.op,))
        if kind.ends is not None and history.at_rest:
            ended = reduce(lambda value, name: value[name], kind.ends[0].split("."), row)
            if ended not in kind.ends[1]:
                said = f"{about} has {kind.ends[0]} {ended}, and not {' or '.join(map(str, kind.ends[1]))}"
                yield Violation("done_is_kept", said, (operation.op,))
        yield from _kind_of_its_own(operation, done.body, row, about)
    yield from _asked_is_as_told(history)
    yield from _measured(history)


def _kind_of_its_own(operation: Operation, told: Json, row: Json, about: str) -> Iterator[Violation]:
    """Yield violations of the effects that only one kind of write has."""
    wrong = {
        "end_event": operation.what == "end_event" and row.get("ended_at") is None,
        "apply": operation.what == "apply" and row.get("applied_at") is None,
        "revoke_token": operation.what == "revoke_token" and row.get("revoked_at") is None,
        "skip_step": operation.what == "skip_step" and row.get("dead_letter") is None,
        "set_quota": operation.what == "set_quota"
        and row["generation"] == told["generation"]
        and row["limit_cost_units"] != told["limit_cost_units"],
    }
    if wrong.get(operation.what):
        yield Violation("done_is_kept", f"{about} was done, and its effect is missing", (operation.op,))


def _asked_is_as_told(history: History) -> Iterator[Violation]:
    """Yield requests whose spec differs from their latest acknowledged write.

    A request is skipped if a later write may have been done.
    """
    latest: dict[int, tuple[int, Any, int]] = {}
    amended: set[str] = set()
    for operation in history.operations:
        done = operation.done
        if operation.what == "amend" and done is None and any(attempt.unknown for attempt in operation.attempts):
            amended.add(operation.path)
        if operation.what in (*_MAKES_REQUESTS, "amend") and done is not None:
            told = done.body["generation"], done.body["spec"], operation.op
            known = latest.setdefault(done.body["capacity_request_id"], told)
            if told[0] > known[0]:
                latest[done.body["capacity_request_id"]] = told
    for row in history.final["capacity_requests"]:
        request_id = row["capacity_request_id"]
        if request_id in latest and f"/v1/capacity-requests/{request_id}" not in amended:
            _, spec, op = latest[request_id]
            if row["spec"] != spec:
                said = f"capacity request {request_id} asks for something else than was acknowledged"
                yield Violation("done_is_kept", said, (op,))


def _measured(history: History) -> Iterator[Violation]:
    """Yield violations if acknowledged spans or series are missing, or if some exist that no client sent."""
    if not history.at_rest:
        return
    spans: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    series: dict[str, tuple[set[str], set[str]]] = {"usage": (set(), set()), "traffic": (set(), set())}
    for operation in by_key(history, ("export_spans", "report_usage", "report_traffic")):
        done, may_be = operation.done is not None, not all(attempt.refused for attempt in operation.attempts)
        if operation.what != "export_spans":
            # A row has a minute, the names of its series, and a value.
            named = {row.split(",", 1)[1].rpartition(",")[0] for row in operation.body.splitlines()[1:]}
            told, possible = series[operation.what.removeprefix("report_")]
            told.update(named if done else ())
            possible.update(named if may_be else ())
            continue
        for resource in operation.body["resourceSpans"]:
            service = resource["resource"]["attributes"][0]["value"]["stringValue"]
            number = len(resource["scopeSpans"][0]["spans"])
            spans[service][0] += number * done
            spans[service][1] += number * may_be
    counted = {row["name"]: row["spans"] for row in history.final.get("traced_services", [])}
    for service, (least, most) in spans.items():
        if not least <= counted.get(service, 0) <= most:
            said = f"{least} spans of {service} were acknowledged, {most} may have been; "
            yield Violation("done_is_kept", f"{said}{counted.get(service, 0)} are counted")
    for row in history.final.get("telemetry", []):
        for measure, (told, possible) in series.items():
            if measure in row and not len(told) <= row[measure]["series"] <= len(possible):
                said = f"{len(told)} series of {measure} were acknowledged, {len(possible)} may have been; "
                yield Violation("done_is_kept", f"{said}there are {row[measure]['series']}")


def done_at_most_once(history: History) -> Iterator[Violation]:
    """The writes with one idempotency key have one effect if a write was acknowledged, no effect if all were refused,
    and otherwise at most one.

    Requests are counted by kind and reservation. A create is counted by its name, which no client uses twice. Any other
    request is counted by its reservation and the generation that it rests on. A resize before the start of a
    reservation's window shows the generation at which it was accepted. So for reservations with a window, resizes are
    counted by reservation. Requests that the platform makes at the end of a window do not count.
    """
    if not history.final:
        return
    clients = {operation.client for operation in history.operations}
    requests = [one for one in history.final["capacity_requests"] if one["requested_by"] in clients]
    reservations = (*history.final.get("reservations", ()), *history.final.get("deleted_reservations", ()))
    windowed = {row["reservation_id"] for row in reservations if row["spec"].get("starts_at") is not None}
    made: Counter[str] = Counter(_asked(request, windowed) for request in requests)
    done: dict[str, set[int]] = defaultdict(set)
    possible: dict[str, set[int]] = defaultdict(set)
    for operation in by_key(history, _MAKES_REQUESTS):
        effect = _wanted(operation, windowed)
        possible[effect].update({operation.op} if any(not attempt.refused for attempt in operation.attempts) else ())
        done[effect].update({operation.op} if operation.done is not None else ())
    for effect in possible.keys() | made.keys():
        if not len(done[effect]) <= made[effect] <= len(possible[effect]):
            said = f"{effect}: {len(done[effect])} keys were told that it is done, {len(possible[effect])} may have "
            yield Violation("done_at_most_once", f"{said}been; it was done {made[effect]} times", (*possible[effect],))


def one_write_a_generation(history: History) -> Iterator[Violation]:
    """Of the writes that change one generation of a row, only one is acknowledged: otherwise an update is lost.

    A write that finds nothing to change, such as cancelling a cancelled retirement, shows the generation that it rests
    on. It does not count.
    """
    first: dict[tuple[str, int | None], Operation] = {}
    for operation in by_key(history, [what for what, kind in KINDS.items() if kind.swaps]):
        if operation.done is None or operation.generation is None:
            continue
        if operation.done.body[KINDS[operation.what].version] == operation.generation:
            continue
        row = operation.path
        for verb in ("approve", "reject", "cancel", "rotate"):
            row = row.removesuffix(f"/{verb}")
        other = first.setdefault((row, operation.generation), operation)
        if other is not operation:
            said = f"{other.client} did {other.what} and {operation.client} {operation.what}, both on generation "
            said += f"{operation.generation} of {row}"
            yield Violation("one_write_a_generation", said, (other.op, operation.op))


def deletes_stay_deleted(history: History) -> Iterator[Violation]:
    """A request that is sent after an acknowledged delete finds the reservation deleted."""
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


def _asked(request: Json, windowed: Collection[int]) -> str:
    if request["kind"] == "create":
        return f"create {request['reservation']}"
    return _change(request["kind"], request["reservation_id"], request["reservation_generation"], windowed)


def _wanted(operation: Operation, windowed: Collection[int]) -> str:
    if operation.what in ("create", "create_window"):
        return f"create {operation.body['name']}"
    return _change(operation.what, int(operation.path.split("/")[3]), operation.generation, windowed)


def _change(kind: str, reservation_id: int, generation: int | None, windowed: Collection[int]) -> str:
    if kind == "resize" and reservation_id in windowed:
        return f"resize {reservation_id}"
    return f"{kind} {reservation_id} at generation {generation}"
