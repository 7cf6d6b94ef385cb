"""Draw goals and constraints for a random world."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from benchmarks.fuzz.case import Case, Wish
from benchmarks.fuzz.draw import Draw
from benchmarks.fuzz.words.book import GENERATORS, GOALS_ONLY
from benchmarks.fuzz.words.own import own_spec
from benchmarks.fuzz.worlds import draw_world
from libs.assignment.language.errors import ModelError

WEIGHTS = (1.0, 1.0, 1.0, 1.0, 2.0, 10.0, 0.5, 0.1)
ODD_WEIGHTS = (0.0, 1e-9, 1e-3, 1e4, 1e9)
WISHES_MAX = 5


def draw_case(draw: Draw, assignments_max: int) -> Case:
    """Return a world with at most five goals and constraints."""
    case = draw_world(draw, assignments_max)
    return stated(case, (draw_wish(draw) for _ in range(int(draw.rng.integers(1, WISHES_MAX + 1)))))


def stated(case: Case, wishes: Iterable[Wish]) -> Case:
    """Return the case with those of `wishes` (goals and constraints) that the library accepts."""
    taken = []
    for wish in wishes:
        try:
            replace(case, wishes=(wish,)).problem()
        except ModelError:  # the arguments do not fit this world, and the library refuses them
            continue
        except Exception:  # a finding: the case is judged by its statement alone
            return replace(case, wishes=(wish,))
        taken.append(wish)
    return replace(case, wishes=tuple(taken))


def draw_wish(draw: Draw) -> Wish:
    """Return a random spec, as a goal or a constraint."""
    name = draw.one(sorted(GENERATORS))
    if draw.maybe(0.25):  # the most frequent specs of real problems
        name = draw.one(("CapacitySpec", "MaximizeAllocationSpec", "BalanceSpec", "GroupCountSpec"))
    made = own_spec(draw) if draw.maybe(0.12) else GENERATORS[name](draw)
    if draw.maybe(0.1):
        made = replace(made, name=f"wish {int(draw.rng.integers(3))}")
    weight = draw.one(ODD_WEIGHTS) if draw.maybe(0.06) else draw.one(WEIGHTS)
    if type(made).__name__ in GOALS_ONLY or draw.maybe(0.45):
        priority = int(draw.one((0, 0, 0, 1, 2)))
        return Wish(spec=made, goal=True, weight=weight, priority=priority, normalise=draw.maybe(0.5))
    return Wish(spec=made, goal=False, weight=weight or 1.0, hard=draw.maybe(0.7))
