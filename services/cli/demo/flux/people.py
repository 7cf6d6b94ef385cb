"""The people of the demo: they watch an execution, approve, look at what is held, and decide."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from libs.reconcile.clock import Clock
from services.cli.client import ApiProblem, Client, Json
from services.cli.output import note

_THINKS = timedelta(hours=1)
"""Time between the wish for a decision and the decision."""
_DECISIONS = {
    "awaiting_approval": ("approve", "its owner has looked at it"),
    "held": ("skip", "the load test failed, so the capacity stays"),
    "reversed": ("retry", "the cause is gone"),
    "failed": ("retry", "the cause is gone"),
}
"""State of an action -> the command that a person gives, and why."""


@dataclass(slots=True)
class Operators:
    """Decide on the actions that wait for a person.

    events   what happened: (time, state or command, action, note)
    """

    client: Client
    clock: Clock
    events: list[tuple[datetime, str, str, str]] = field(default_factory=list)
    _seen: dict[tuple[str, str, str], datetime] = field(default_factory=dict)

    def watch(self, path: str) -> Json:
        """Look at an execution once, decide what is due, and return the execution."""
        for action in self.client.items(f"{path}/actions", limit=1000):
            key = path, action["action"], action["state"]
            if not _waits(action):
                continue
            if key not in self._seen:
                self._seen[key] = self.clock.now()
                self._tell(action["state"], action)
            elif self.clock.now() - self._seen[key] >= _THINKS:
                self._decide(path, action)
        return self.client.get(path)

    def _decide(self, path: str, action: Json) -> None:
        verb, reason = _DECISIONS[action["state"]]
        body = {"level": "action", "subject": action["action"], "verb": verb, "reason": reason}
        try:
            self.client.post(f"{path}/commands", body)
        except ApiProblem as problem:  # the action went on by itself meanwhile
            note(f"  {verb} {action['action']}: {problem}")
            return
        del self._seen[path, action["action"], action["state"]]
        self._tell(verb, action | {"note": reason})

    def _tell(self, what: str, action: Json) -> None:
        at, why = self.clock.now(), str(action["note"] or "")
        self.events.append((at, what, action["action"], why))
        note(f"  {at:%a %H:%M} {what.replace('_', ' ')} {action['action']}{': ' if why else ''}{why}")


def _waits(action: Json) -> bool:
    """Return whether an action waits for a person. One that an unknown gate holds goes on when the gate is known, and
    a shift that a bad gate holds goes back by itself.
    """
    if action["state"] != "held":
        return action["state"] in _DECISIONS
    return action["phase"] == "downsize" and str(action["note"]).startswith("GateBad")
