"""Descend: for each object in an order, make the best single move or the first that improves; and swap all pairs.

Source: Rebalancer, A.1.1 (SINGLE, SINGLE_RANDOM, SINGLE_GREEDY, SWAP).
"""

from __future__ import annotations

from libs.assignment.incremental.borrow import borrow_state, borrow_tables
from libs.assignment.incremental.delta import ask, evaluate, evaluate_single, make
from libs.assignment.incremental.tables import CONTAINERS, INITIAL_AT, LEVELS, State, Tables
from libs.assignment.kernels.jit import compiled
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.solvers.local.anneal import better
from libs.assignment.solvers.local.random_draws import random_below, seed_random

TARGETS_MAX = 500
"""Most containers that a quick sweep tries for an object. From more it draws this many, and adds the initial container.
"""


@compiled
def descend(
    g: Tables,
    s: State,
    level: int,
    objects: Ints,
    targets: int,
    first_improving: bool,
    tries_max: int,
    seed: int,
    tolerance: Floats,
    counts: Ints,
) -> None:
    """Sweep once over the objects in order: each moves to its best container if that improves the objective.

    targets          containers to try for each object: all, or this many at random
    first_improving  an object moves to the first better container found, from a random one on
    counts           output: changes tried, changes made, objects examined
    """
    g, s = borrow_tables(g), borrow_state(s)
    seed_random(g, s, seed)
    levels, containers = g.node[0, LEVELS], g.node[0, CONTAINERS]
    every = containers <= targets
    tried = made = looked = 0
    for o in objects:
        if tried >= tries_max:
            break
        looked += 1
        best, least = -1, 0.0
        begin = random_below(g, s, containers) if every and first_improving else 0
        for t in range(containers if every else targets):
            container = (begin + t) % containers if every else random_below(g, s, containers)
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
                if first_improving:
                    break
        if best >= 0:
            ask(g, s, 0, o, best)
            make(g, s, 1)
            made += 1
    counts[0], counts[1], counts[2] = tried, made, looked


@compiled
def swap_all(g: Tables, s: State, level: int, objects: Ints, tries_max: int, tolerance: Floats, counts: Ints) -> None:
    """Swap each object with later ones in the order if that improves the objective.

    counts           output: swaps tried, made, objects examined
    """
    g, s = borrow_tables(g), borrow_state(s)
    levels = g.node[0, LEVELS]
    tried = made = looked = 0
    for i in range(len(objects)):
        if tried >= tries_max:
            break
        looked += 1
        for j in range(i + 1, len(objects)):
            here, there = s.whole[objects[i]], s.whole[objects[j]]
            if here == there:
                continue
            ask(g, s, 0, objects[i], there)
            ask(g, s, 1, objects[j], here)
            tried += 1
            if evaluate(g, s, 2) and better(s, levels, level, tolerance) < 0:
                make(g, s, 2)
                made += 1
    counts[0], counts[1], counts[2] = tried, made, looked
