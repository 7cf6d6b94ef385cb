"""Annealing: single moves and swaps at random, worse ones too while it is hot."""

from __future__ import annotations

import math

from libs.assignment.arrays import Floats, Ints
from libs.assignment.search.borrow import borrow_state, borrow_tables
from libs.assignment.search.delta import ask, evaluate, make
from libs.assignment.search.draw import random_below, random_share, seed_random
from libs.assignment.search.jit import compiled, part
from libs.assignment.search.tables import CONTAINERS, INITIAL_AT, LEVELS, OBJECTS, State, Tables

SWAPS, HOMES, CHAINS = 0.3, 0.2, 0.2
"""Of the changes tried, how many are swaps, returns home and chains of two; the rest are single moves."""


@part
def ask_random(g: Tables, s: State) -> int:
    """Ask about a change at random. Returns how many objects move: 0, 1 or 2.

    A return home is a move like any other, but one container among many: where objects under way occupy both ends,
    little can move until some have gone back. A chain sends one object to where another is, and that one elsewhere.
    """
    objects, containers = g.node[0, OBJECTS], g.node[0, CONTAINERS]
    o, kind = random_below(g, s, objects), random_share(g, s)
    here = s.whole[o]
    if kind < HOMES:
        container = g.lookup[g.node[0, INITIAL_AT] + o]
    elif kind < HOMES + SWAPS + CHAINS:
        other = random_below(g, s, objects)
        there = s.whole[other]
        if here == there:
            return 0
        ask(g, s, 0, o, there)
        if kind >= HOMES + CHAINS:
            ask(g, s, 1, other, here)
            return 2
        home = g.lookup[g.node[0, INITIAL_AT] + other]
        container = home if home != there else random_below(g, s, containers)
        if container == there:
            return 0
        ask(g, s, 1, other, container)
        return 2
    else:
        container = random_below(g, s, containers)
    if container == here:
        return 0
    ask(g, s, 0, o, container)
    return 1


@part
def better(s: State, levels: int, level: int, tolerance: Floats) -> int:
    """-1: the change is better at the first priority down to `level` that it makes different; 1: worse; 0: no
    different.
    """
    for k in range(level + 1):
        d = s.part[levels + k]
        if d < -tolerance[k]:
            return -1
        if d > tolerance[k]:
            return 1
    return 0


@compiled
def sample_changes(g: Tables, s: State, level: int, found: Floats, tries: int, seed: int, least: float) -> int:
    """Fill `found` with by how much random feasible changes make a level worse. Returns how many there are."""
    g, s = borrow_tables(g), borrow_state(s)
    seed_random(g, s, seed)
    levels, count = g.node[0, LEVELS], 0
    for _ in range(tries):
        moves = ask_random(g, s)
        if moves > 0 and evaluate(g, s, moves) and s.part[levels + level] > least:
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
    best: Ints,
    best_value: Floats,
) -> int:
    """Try so many changes while the temperature falls from hot to cold. Returns how many were made.

    A change that makes a higher priority worse is never made. `best` (N,) and `best_value` (levels,) are kept up
    to date.
    """
    g, s = borrow_tables(g), borrow_state(s)
    seed_random(g, s, seed)
    levels, objects = g.node[0, LEVELS], g.node[0, OBJECTS]
    cooling, temperature, made = (cold / hot) ** (1.0 / tries), hot, 0
    saved = True
    for _ in range(tries):
        temperature *= cooling
        moves = ask_random(g, s)
        if moves == 0 or not evaluate(g, s, moves):
            continue
        verdict = better(s, levels, level, tolerance)
        if verdict > 0:
            for k in range(level):
                if s.part[levels + k] > tolerance[k]:
                    verdict = 2
            if verdict == 2 or random_share(g, s) >= math.exp(-s.part[levels + level] / temperature):
                continue
            if not saved:
                saved = True
                for o in range(objects):
                    best[o] = s.whole[o]
        make(g, s, moves)
        made += 1
        for k in range(level + 1):
            if s.part[k] < best_value[k] - tolerance[k]:
                saved = False
                for j in range(levels):
                    best_value[j] = s.part[j]
                break
            if s.part[k] > best_value[k] + tolerance[k]:
                break
    if not saved:
        for o in range(objects):
            best[o] = s.whole[o]
    return made
