"""Descent: the best single move of each object, hot containers first."""

from __future__ import annotations

from libs.assignment.arrays import Floats, Ints
from libs.assignment.search.anneal import better
from libs.assignment.search.borrow import borrow_state, borrow_tables
from libs.assignment.search.delta import ask, evaluate_single, make
from libs.assignment.search.draw import random_below, seed_random
from libs.assignment.search.jit import compiled
from libs.assignment.search.tables import CONTAINERS, INITIAL_AT, LEVELS, State, Tables

TARGETS_MAX = 500
"""Containers that an object is tried in; where there are more, as many are drawn, and its first one."""


@compiled
def descend(
    g: Tables,
    s: State,
    level: int,
    objects: Ints,
    tries_max: int,
    seed: int,
    tolerance: Floats,
    counts: Ints,
) -> None:
    """One sweep over the objects in the order given: each goes where it makes the objective least, if that is better.

    `counts` is given back as (changes tried, changes made, objects looked at).
    """
    g, s = borrow_tables(g), borrow_state(s)
    seed_random(g, s, seed)
    levels, containers = g.node[0, LEVELS], g.node[0, CONTAINERS]
    every = containers <= TARGETS_MAX
    tried = made = looked = 0
    for o in objects:
        if tried >= tries_max:
            break
        looked += 1
        best, least = -1, 0.0
        for t in range(containers if every else TARGETS_MAX):
            container = t if every else random_below(g, s, containers)
            if not every and t == 0:
                container = g.lookup[g.node[0, INITIAL_AT] + o]
            if container == s.whole[o]:
                continue
            ask(g, s, 0, o, container)
            tried += 1
            if evaluate_single(g, s) and better(s, levels, level, tolerance) < 0:
                gain = s.part[levels + level]
                if best < 0 or gain < least:
                    best, least = container, gain
        if best >= 0:
            ask(g, s, 0, o, best)
            make(g, s, 1)
            made += 1
    counts[0], counts[1], counts[2] = tried, made, looked
