"""Make a lawful history of one execution as records; tests spoil it."""

from __future__ import annotations

import copy
from typing import Any

from soak.history import History
from soak.work.executing import PATIENT_S
from soak.work.planned_world import RRU

Json = dict[str, Any]
UP, SHIFT, DOWN = "upsize/web/b/hw", "shift/shop/a/b", "downsize/web/a/hw"


def execution(state: str = "done", number: int = 1, action_s_max: float = PATIENT_S) -> Json:
    """Return an execution of plan 7."""
    return {
        "plan_execution_id": number,
        "placement_plan_id": 7,
        "state": state,
        "terms": {"action_s_max": action_s_max},
        "generation": 9,
    }


def action(name: str, *waits_for: str, **fields: Any) -> Json:
    """Return an action of the execution, which is done."""
    phase = name.partition("/")[0]
    found = {"plan_execution_id": 1, "action": name, "phase": phase, "service": "web", "region": name.split("/")[2]}
    if phase == "shift":
        found |= {"service": None, "product": "shop", "region": "a", "to_region": "b", "size": 0.2, "after": 0.2}
    return found | {"waits_for": list(waits_for), "state": "done"} | fields


def event(number: int, name: str, achieved: float, **fields: Any) -> Json:
    """Return the event of an action, which succeeded."""
    return {
        "capacity_event_id": number,
        "placement_plan_id": 7,
        "action": name,
        "status": "succeeded",
        "achieved": achieved,
        "effect": {},
        "generation": 4,
        "history": [{"status": status} for status in ("proposed", "approved", "active", "succeeded")],
    } | fields


class Story:
    """The records of one execution: an upsize, a shift in two fractions, and a downsize."""

    def __init__(self) -> None:
        self.orders: list[Json] = []
        self.seen: list[Json] = []
        for key, value in ((UP, 5.0 * RRU), (SHIFT, 0.1), (SHIFT, 0.2), (DOWN, 2.0 * RRU)):
            attempt = 1 + sum(one["key"].startswith(f"1/{key}/") and one["what"] == "asked" for one in self.orders)
            self.order(f"1/{key}/{attempt}", value, "asked", "done")
        self.final: Json = {
            "quiet_s": 1.0,
            "plan_executions": [execution()],
            "execution_actions": [
                action(UP, size=5.0),
                action(SHIFT, UP),
                action(DOWN, SHIFT, size=2.0),
            ],
            "capacity_events": [event(1, UP, 1.0), event(2, SHIFT, 0.2), event(3, DOWN, -2.0)],
        }

    def order(self, key: str, value: float, *whats: str, at: int | None = None, **fields: Any) -> None:
        """Add what happened to an order, before position `at`; None: at the end."""
        traffic = "/shift/" in key
        place = ["traffic", "shop", "a", "b"] if traffic else ["reservation", key.split("/")[3], "web"]
        new = [{"type": "system", "what": what, "key": key, "place": place, "value": value} | fields for what in whats]
        at = len(self.orders) if at is None else at
        self.orders[at:at] = new

    def drop(self, key: str, what: str) -> None:
        """Leave out a record."""
        self.orders = [one for one in self.orders if (one["key"], one["what"]) != (key, what)]

    def look(self, row: Json, at: int) -> None:
        """Add an answer that shows an event or an action, before position `at` of the orders."""
        self.seen.append({"at": at, "row": row})

    def history(self) -> History:
        """Return the history. The times are the positions of the orders."""
        records: list[Json] = [one | {"at_s": float(i)} for i, one in enumerate(self.orders)]
        for op, one in enumerate(self.seen, 1):
            what, path = "list_capacity_events", "/v1/capacity-events"
            if "phase" in one["row"]:
                what, path = "list_actions", "/v1/plan-executions/1/actions"
            about = {"client": "ann", "what": what, "method": "GET", "path": path}
            about |= {"key": None, "generation": None, "body": None, "op": op, "attempt": 0}
            said = {"status": 200, "body": {"items": [one["row"]]}, "generation": None, "replayed": False}
            records.append({"type": "call", "at_s": one["at"] - 0.6, **about})
            records.append({"type": "answer", "at_s": one["at"] - 0.5, "op": op, "attempt": 0, **said})
        records.append({"type": "final", "at_s": 1000.0, **copy.deepcopy(self.final)})
        return History.of(records)
