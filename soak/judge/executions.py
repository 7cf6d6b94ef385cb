"""Rules about executions of plans: what the platform says of them, against what the portals and the traffic really did.

A key of an order is `execution/action/attempt`. The amount of an event is its share of the product's traffic, or the
capacity that it adds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from soak.history import History, Json, Operation
from soak.judge.answers import seen_rows
from soak.judge.violation import Violation
from soak.systems import reservation_place, split_key
from soak.work.executing import ENDED, PATIENT_S
from soak.work.planned_world import RRU

_SAME = 1e-6
Action = tuple[int, str]
"""An execution, and the id of an action."""
_Values = Sequence[tuple[float, float]]


@dataclass(slots=True)
class _Known:
    """Executions, and their actions, as answers and the end show them.

    executions   id -> its latest row
    actions      (execution, action) -> its latest row
    """

    executions: dict[int, Json] = field(default_factory=dict)
    actions: dict[Action, Json] = field(default_factory=dict)


def nothing_is_ordered_twice(history: History) -> Iterator[Violation]:
    """No order is repeated under a new key, unless a system said that it failed.

    An execution that gives up a request after some time may do so. The rule is about the patient ones.
    """
    executions = _known(history).executions
    given_up: set[str] = set()
    last: dict[Action, Json] = {}
    for one in history.systems:
        action = _action(one["key"])
        if one["what"] == "failed" or (one["what"] == "replaced" and _action(one["by"]) != action):
            given_up.add(one["key"])
        if one["what"] != "asked":
            continue
        before, execution = last.get(action), executions.get(action[0])
        is_patient = execution is not None and execution["terms"]["action_s_max"] >= PATIENT_S
        if is_patient and before is not None and _same(before["value"], one["value"]) and before["key"] not in given_up:
            said = f"{one['key']} at {one['at_s']:.2f} s orders what {before['key']} did, which has not failed"
            yield Violation("nothing_is_ordered_twice", said)
        last[action] = one


def ledger_shows_what_happened(history: History) -> Iterator[Violation]:
    """No event and no action shows an amount that had not happened when the answer came.

    A resize happens without an order of its own if its reservation has the capacity already. While a shift goes back,
    its event shows the most that may have moved. So for an active event an order counts.
    """
    known = _known(history)
    of_plan: dict[tuple[int, str], list[int]] = defaultdict(list)
    for execution, action in known.actions:
        if execution in known.executions:
            of_plan[known.executions[execution]["placement_plan_id"], action].append(execution)
    done, asked = _values(history, "done"), _values(history, "asked", "done")
    for seen in seen_rows(history):
        event = seen.row
        if seen.noun != "capacity event" or not event["achieved"]:
            continue
        plan, name = event["placement_plan_id"], event["action"]
        rows = {(one, name): known.actions[one, name] for one in of_plan.get((plan, name), [])}
        values = done if event["status"] == "succeeded" else asked
        if rows and not any(
            _happened(row, values[one], done[_reservation(row)], seen.ended_s, event["achieved"])
            for one, row in rows.items()
        ):
            said = f"capacity event {event['capacity_event_id']} ({event['action']}) is {event['status']} with "
            said += f"{event['achieved']:g} at {seen.ended_s:.2f} s, and that had not happened"
            yield Violation("ledger_shows_what_happened", said, (seen.op,))
    for operation in history.operations:
        answer = operation.done
        if operation.what != "list_actions" or answer is None or answer.ended_s is None:
            continue
        for row in answer.body["items"]:
            one, is_done = _action_of(operation, row), row["state"] == "done" and row["phase"] != "settled"
            if is_done and not _happened(row, done[one], done[_reservation(row)], answer.ended_s, _wanted(row)):
                said = f"{row['action']} of execution {one[0]} is done at {answer.ended_s:.2f} s, and that had not "
                yield Violation("ledger_shows_what_happened", f"{said}happened", (operation.op,))


def orders_are_of_active_events(history: History) -> Iterator[Violation]:
    """Every order belongs to an event that was active."""
    known = _known(history)
    ids: dict[tuple[int, str], list[int]] = defaultdict(list)
    for execution, name in sorted(known.actions):
        if execution in known.executions:
            ids[known.executions[execution]["placement_plan_id"], name].append(execution)
    events: dict[Action, Json] = {}
    count: dict[tuple[int, str], int] = defaultdict(int)
    for event in sorted(history.final.get("capacity_events", []), key=lambda event: event["capacity_event_id"]):
        named = event["placement_plan_id"], event["action"]
        if count[named] < len(ids[named]):
            events[ids[named][count[named]], named[1]] = event
            count[named] += 1
    told: set[Action] = set()
    for one in history.systems:
        action = _action(one["key"])
        if one["what"] != "asked" or action in told or action not in events:
            continue
        if not any(change["status"] == "active" for change in events[action]["history"]):
            said = f"{one['key']} was ordered, and its event {events[action]['capacity_event_id']} was never active"
            yield Violation("orders_are_of_active_events", said)
            told.add(action)


def one_execution_at_a_place(history: History) -> Iterator[Violation]:
    """The orders of two executions about one reservation, or about the traffic between two regions, do not mix."""
    latest: dict[tuple[str, ...], int] = {}
    left: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for one in history.systems:
        place, execution = tuple(one["place"]), _action(one["key"])[0]
        if one["what"] != "asked" or latest.get(place, execution) == execution:
            latest.setdefault(place, execution)
            continue
        left[place].add(latest[place])
        if execution in left[place]:
            said = f"{one['key']} was ordered at {one['at_s']:.2f} s, after execution {latest[place]} had begun at "
            yield Violation("one_execution_at_a_place", said + "/".join(place[1:]))
        latest[place] = execution


def capacity_comes_before_traffic(history: History) -> Iterator[Violation]:
    """Traffic moves only to regions that have the capacity of the plan, and capacity leaves only after its traffic.

    Checked at every moment at which something changes, by what the systems really did: when traffic comes, the upsizes
    that its shift waits for are there. When capacity leaves, the shifts that it waits for are complete.
    """
    known = _known(history)
    rru: dict[tuple[str, ...], float] = {}
    moved: dict[Action, float] = {}
    for one in history.systems:
        if one["what"] != "done":
            continue
        action, place = _action(one["key"]), tuple(one["place"])
        before = moved.get(action, 0.0)
        if place[0] == "reservation":
            rru[place] = one["value"]
        else:
            moved[action] = one["value"]
        row = known.actions.get(action)
        grows = row is not None and (row["phase"] == "upsize" or (row["phase"] == "shift" and one["value"] <= before))
        for needed in () if row is None or grows else row["waits_for"]:
            antecedent = known.actions.get((action[0], needed))
            if antecedent is not None and not _is_there(antecedent, (action[0], needed), rru, moved):
                said = f"{one['key']} was done at {one['at_s']:.2f} s, and {needed} was not there"
                yield Violation("capacity_comes_before_traffic", said)


def executions_end_where_they_say(history: History) -> Iterator[Violation]:
    """At rest every execution has ended, its events too, and each done action is what the systems really did."""
    if not history.at_rest:
        return
    known = _known(history)
    for number, execution in known.executions.items():
        if execution["state"] not in ENDED:
            said = f"execution {number} is {execution['state']}"
            yield Violation("executions_end_where_they_say", said)
    for event in history.at_rest.get("capacity_events", []):
        if event["status"] in ("proposed", "approved", "active"):
            said = f"capacity event {event['capacity_event_id']} of {event['action']} is still {event['status']}"
            yield Violation("executions_end_where_they_say", said)
    done = _values(history, "done")
    for action, row in known.actions.items():
        if row["state"] == "done" and row["phase"] != "settled":
            own, wanted = [value for _, value in done[action]], _wanted(row)
            there = bool(own) and _same(own[-1], wanted)
            equal = row["phase"] != "shift" and any(_same(value, wanted) for _, value in done[_reservation(row)])
            if not there and not equal:
                said = (
                    f"{action[1]} of execution {action[0]} is done, and it is {own[-1:] or 'nothing'}, not {wanted:g}"
                )
                yield Violation("executions_end_where_they_say", said)


def _known(history: History) -> _Known:
    """Return what answers and the end show of executions. Later rows replace earlier ones."""
    found = _Known()
    for seen in seen_rows(history):
        if seen.noun == "execution":
            found.executions[int(seen.row_id)] = seen.row
    for operation in history.operations:
        if operation.what == "list_actions" and operation.done is not None:
            found.actions |= {_action_of(operation, row): row for row in operation.done.body["items"]}
    for row in history.final.get("execution_actions", []):
        found.actions[row["plan_execution_id"], row["action"]] = row
    return found


def _values(history: History, *whats: str) -> Mapping[Action | tuple[str, ...], list[tuple[float, float]]]:
    """Return the time and the value of all orders that were done or asked for, by action and by place."""
    found: dict[Action | tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
    for one in history.systems:
        if one["what"] in whats:
            for name in (_action(one["key"]), tuple(one["place"])):
                found[name].append((one["at_s"], one["value"]))
    return found


def _happened(row: Json, own: _Values, at_place: _Values, until_s: float, shown: float) -> bool:
    """Return whether an action had happened: at least the share `shown` of a shift, or the whole of a resize."""
    if row["phase"] == "shift":
        return any(at_s <= until_s and value >= shown - _SAME for at_s, value in own)
    return any(at_s <= until_s and _same(value, _wanted(row)) for at_s, value in at_place)


def _is_there(row: Json, action: Action, rru: dict[tuple[str, ...], float], moved: dict[Action, float]) -> bool:
    if row["phase"] == "shift":
        share: float = row["after"]
        return moved.get(action, 0.0) >= share - _SAME
    if row["service"] is None:
        return True
    held: float = rru.get(_reservation(row), 0.0)
    if row["phase"] == "upsize":
        return held >= _wanted(row) * (1 - _SAME)
    return held <= _wanted(row) * (1 + _SAME)


def _reservation(row: Json) -> tuple[str, ...]:
    return reservation_place(row["region"], row["service"] or "")


def _wanted(row: Json) -> float:
    """Return the value of an order that carries the whole action out."""
    return float(row["after"] if row["phase"] == "shift" else row["size"] * RRU)


def _action_of(operation: Operation, row: Json) -> Action:
    """Return the action that a list of the actions of an execution shows."""
    return int(operation.path.split("/")[3]), row["action"]


def _action(key: str) -> Action:
    execution, _, action = split_key(key)[0].partition("/")
    return int(execution), action


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= _SAME * max(abs(one), abs(other))
