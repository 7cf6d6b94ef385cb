"""Anneal: make random changes, also worse ones while the temperature is high."""

from __future__ import annotations

import math

from libs.assignment.incremental.borrow import borrow_state, borrow_tables
from libs.assignment.incremental.delta import evaluate, evaluate_single, make
from libs.assignment.incremental.tables import (
    LEVELS,
    MOVES_AT,
    OBJECTS,
    OVER_CHANGE,
    OVER_MAX,
    OVER_ROWS,
    State,
    Tables,
)
from libs.assignment.kernels.jit import compiled, part
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.solvers.local.moves.kinds import ask_kind, draw_kind, tries_of
from libs.assignment.solvers.local.random_draws import random_share, seed_random

TRIED, MADE, GAINED = range(3)
"""Columns of a tally: evaluated changes; made changes; total improvement by the better ones."""

COST_MAX = 30.0
"""Largest price of an excess over bent limits in one change, as a multiple of the temperature. Annealing would hardly
ever accept a higher price.
"""


@part
def better(s: State, levels: int, level: int, tolerance: Floats) -> int:
    """Return -1 if the change is better at the first differing priority down to `level`, 1 if worse, 0 if equal."""
    for k in range(level + 1):
        d = s.part[levels + k]
        if d < -tolerance[k]:
            return -1
        if d > tolerance[k]:
            return 1
    return 0


@part
def allowed(g: Tables, s: State, moves: int) -> bool:
    """Evaluate the present change."""
    return evaluate_single(g, s) if moves == 1 else evaluate(g, s, moves)


@part
def save(s: State, objects: int, best: Ints, journal: Ints, moved: int) -> None:
    """Update `best` to the present assignment: only at the objects in the journal, if the journal has room for all of
    them.
    """
    if moved <= len(journal):
        for k in range(moved):
            best[journal[k]] = s.whole[journal[k]]
    else:
        for o in range(objects):
            best[o] = s.whole[o]


@compiled
def sample_changes(
    g: Tables, s: State, level: int, found: Floats, tries: int, seed: int, least: float, mix: Floats, proposals: Ints
) -> int:
    """Fill `found` with the costs of random feasible worsening changes of a level. Return their number."""
    g, s = borrow_tables(g), borrow_state(s)
    seed_random(g, s, seed)
    levels, count = g.node[0, LEVELS], 0
    for _ in range(tries):
        moves = ask_kind(g, s, draw_kind(g, s, mix), level, proposals)
        if moves > 0 and allowed(g, s, moves) and s.part[levels + level] > least:
            found[count] = s.part[levels + level]
            count += 1
            if count == len(found):
                break
    return count


@compiled
def anneal(
    g: Tables,
    s: State,
    level: int,
    hot: float,
    cold: float,
    tries: int,
    seed: int,
    tolerance: Floats,
    mix: Floats,
    proposals: Ints,
    journal: Ints,
    best: Ints,
    best_value: Floats,
    tally: Floats,
    spread: Floats,
) -> None:
    """Try a number of changes while the temperature falls from hot to cold.

    A change that worsens a higher priority is never made. While limits are bent, an excess over them has a price, and
    no assignment counts as the best.

    mix         (kinds,) probability of each kind of change
    journal     (J,) scratch
    best        (N,), and best_value (levels,): the best assignment so far and its value; both are input and output
    tally       (kinds, 3) output by kind, with the columns above
    spread      (1,) output: the standard deviation of the level's value over the tries
    """
    g, s = borrow_tables(g), borrow_state(s)
    seed_random(g, s, seed)
    levels, objects, asked = g.node[0, LEVELS], g.node[0, OBJECTS], g.node[0, MOVES_AT]
    cooling, temperature = (cold / hot) ** (1.0 / tries), hot
    over, bent = 2 * levels, s.part[2 * levels + OVER_MAX] > 0.0
    hardest = 1 if bent else 0
    base, total, squares, looks = s.part[level], 0.0, 0.0, 0
    saved, moved, tried = True, len(journal) + 1, 0
    while tried < tries:
        kind = draw_kind(g, s, mix)
        cost = tries_of(kind)
        tried, looks = tried + cost, looks + 1
        temperature *= cooling**cost if cost > 1 else cooling
        away = s.part[level] - base
        total, squares = total + away, squares + away * away
        tally[kind, TRIED] += cost
        if bent:
            s.part[over + OVER_MAX] = COST_MAX * temperature
        moves = ask_kind(g, s, kind, level, proposals)
        if moves == 0 or not allowed(g, s, moves):
            continue
        verdict, rise = better(s, levels, level, tolerance), s.part[levels + level]
        if bent:
            rise += s.part[over + OVER_CHANGE]
            verdict = 1 if rise > 0.0 else -1
        if bent or verdict > 0:
            for k in range(hardest, level):
                if s.part[levels + k] > tolerance[k]:
                    verdict = 2
            if verdict == 2 or (verdict > 0 and random_share(g, s) >= math.exp(-rise / temperature)):
                continue
            if not saved:
                saved = True
                save(s, objects, best, journal, moved)
                moved = 0
        if moved <= len(journal):
            for k in range(moves):
                if moved < len(journal):
                    journal[moved] = s.whole[asked + 3 * k]
                moved += 1
        make(g, s, moves)
        tally[kind, MADE] += 1
        tally[kind, GAINED] += max(-rise, 0.0)
        if bent and s.part[over + OVER_ROWS] > 0.0:
            continue
        # the excess over bent limits comes and goes, so level 0 is exact only up to rounding: 0 stays 0
        first = 1 if bent and best_value[0] <= tolerance[0] else 0
        for k in range(first, level + 1):
            if s.part[k] < best_value[k] - tolerance[k]:
                saved = False
                for j in range(first, levels):
                    best_value[j] = s.part[j]
                break
            if s.part[k] > best_value[k] + tolerance[k]:
                break
    if not saved:
        save(s, objects, best, journal, moved)
    spread[0] = math.sqrt(max(squares / looks - (total / looks) ** 2, 0.0))
