"""What must have happened in a run: one in which nothing went on, or nothing was harmed, shows nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from soak.deck import cards
from soak.history import History
from soak.judge.kinds import KINDS

MINUTELY: Mapping[str, float] = {
    "requests granted": 4.0,
    "moves done": 8.0,
    "replacements drawn": 1.0,
    "servers joined in the world": 8.0,
    "answers of the receiver unheard": 4.0,
    "placement plans made": 0.5,
}
"""At least so many in a minute of work."""
_OPERATIONS = 0.5
"""At least so many acknowledged operations of each kind in a minute."""
_LEAST_S = 60.0
"""A shorter run has no floor: on a busy machine the platform has hardly begun by then."""
_FAULTS, _ONCE_S = 0.33, 120.0
"""Share of the faults that a run of its length deals, on average, that must have met something; and how long a run is
in which each must have done so."""


def what_happened(history: History) -> dict[str, int]:
    """Everything that has a floor -> how often it happened."""
    final = history.final
    moves = Counter(move["status"] for move in final.get("moves", []))
    phases = Counter(request["status"]["phase"] for request in final.get("capacity_requests", []))
    found = {
        "requests granted": phases["granted"],
        "moves done": moves["done"],
        "replacements drawn": sum(plan["changes"] > 0 for plan in final.get("replacements", [])),
        "servers joined in the world": sum(done["step"] == "join" for done in history.world),
        "answers of the receiver unheard": len(history.unheard),
        "placement plans made": len(final.get("placement_plans", [])),
    }
    done = Counter(operation.what for operation in history.operations if operation.done is not None)
    hit = Counter(fault["name"] for fault in history.faults if fault.get("hit"))
    operations = {f"operations {kind}": done[kind] for kind in KINDS}
    return found | operations | {f"faults {name}": hit[name] for name in cards(small_disk=True)}


def floor(history: History) -> dict[str, int]:
    """The least that a run of this length must show of everything that has a floor; 0 in less than a minute."""
    run = history.run
    if not run or run["duration_s"] < _LEAST_S:
        return {}
    minutes, dealt = run["duration_s"] / 60, run["duration_s"] / run["fault_every_s"]
    only = run.get("only")
    deck = {name: number for name, number in cards(run["small_disk"]).items() if not only or name in only}
    share = _FAULTS * dealt / sum(deck.values())
    least = {name: int(number * minutes) for name, number in MINUTELY.items()}
    least |= {f"operations {kind}": int(_OPERATIONS * minutes) for kind in KINDS}
    once = int(run["duration_s"] >= _ONCE_S)
    return least | {f"faults {name}": max(once, int(share * number)) for name, number in deck.items()}


def below_floor(history: History) -> Iterator[str]:
    """What happened too seldom, for people. A run without an end is below every floor."""
    if not history.run:
        yield "nothing: the record does not say what was run"
        return
    found = what_happened(history)
    for name, least in floor(history).items():
        if found[name] < least:
            yield f"{name}: {found[name]}, and at least {least} must have been"
