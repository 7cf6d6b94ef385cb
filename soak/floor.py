"""The floor of a run: the least number of each event that must have happened. A run with little work or few faults
shows nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from soak.deck import cards
from soak.history import History
from soak.judge.kinds import KINDS
from soak.work.executing import ENDED

MINUTELY: Mapping[str, float] = {
    "requests granted": 4.0,
    "moves done": 8.0,
    "replacements drawn": 1.0,
    "servers joined in the world": 8.0,
    "answers of the receiver unheard": 4.0,
    "placement plans made": 0.5,
    "executions ended": 0.5,
    "shifts done in the world": 0.5,
    "resizes done in the world": 1.0,
    "answers of portals and traffic unheard": 1.0,
}
"""Least number of each event per minute of work."""
_LEAST_S = 60.0
"""Shortest run with a floor. On a busy machine, the platform has hardly started before that."""
_FAULTS, _ONCE_S = 0.33, 120.0
"""Least share of the expected faults of each kind that must hit a target.

In a run of at least `_ONCE_S` seconds, each kind must hit at least once.
"""


def what_happened(history: History) -> dict[str, int]:
    """Return the number of times that each event with a floor happened."""
    final = history.final
    moves = Counter(move["status"] for move in final.get("moves", []))
    phases = Counter(request["status"]["phase"] for request in final.get("capacity_requests", []))
    unheard = Counter(one["of"] for one in history.unheard)
    carried_out = Counter(one["place"][0] for one in history.systems if one["what"] == "done")
    found = {
        "requests granted": phases["granted"],
        "moves done": moves["done"],
        "replacements drawn": sum(plan["changes"] > 0 for plan in final.get("replacements", [])),
        "servers joined in the world": sum(done["step"] == "join" for done in history.world),
        "answers of the receiver unheard": unheard["servers"],
        "placement plans made": len(final.get("placement_plans", [])),
        "executions ended": sum(one["state"] in ENDED for one in final.get("plan_executions", [])),
        "shifts done in the world": carried_out["traffic"],
        "resizes done in the world": carried_out["reservation"],
        "answers of portals and traffic unheard": unheard["systems"],
    }
    done = Counter(operation.what for operation in history.operations if operation.done is not None)
    hit = Counter(fault["name"] for fault in history.faults if fault.get("hit"))
    operations = {f"operations {kind}": done[kind] for kind in KINDS}
    faults = (*cards(small_disk=True), "fail_over")
    return found | operations | {f"faults {name}": hit[name] for name in faults}


def floor(history: History) -> dict[str, int]:
    """Return the floor of each event for a run of this length; empty for less than a minute."""
    run = history.run
    if not run or run["duration_s"] < _LEAST_S:
        return {}
    minutes, dealt = run["duration_s"] / 60, run["duration_s"] / run["fault_every_s"]
    only = run.get("only")
    deck = {name: number for name, number in cards(run["small_disk"]).items() if not only or name in only}
    share = _FAULTS * dealt / sum(deck.values())
    least = {name: int(number * minutes) for name, number in MINUTELY.items()}
    least |= {f"operations {kind}": int(one.least * minutes) for kind, one in KINDS.items()}
    least |= {"faults fail_over": 1} if run.get("fail_over") else {}
    once = int(run["duration_s"] >= _ONCE_S)
    return least | {f"faults {name}": max(once, int(share * number)) for name, number in deck.items()}


def below_floor(history: History) -> Iterator[str]:
    """Yield a line for each event below its floor. A run without a `run` record is below every floor."""
    if not history.run:
        yield "nothing: the history has no record of the run"
        return
    found = what_happened(history)
    for name, least in floor(history).items():
        if found[name] < least:
            yield f"{name}: {found[name]}; at least {least} are required"
