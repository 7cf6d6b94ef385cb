"""Move objects between two containers in a run that may get worse before it gets better (Kernighan-Lin).

A run repeatedly makes the best move of an object that has not moved in it, even for the worse. Then it undoes the moves
after its best point. Source: B. W. Kernighan, S. Lin, An efficient heuristic procedure for partitioning graphs (1970);
Rebalancer, A.1.1 (KL_SEARCH).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from libs.assignment.incremental.borrow import borrow_state, borrow_tables
from libs.assignment.incremental.delta import ask, evaluate_single, make
from libs.assignment.incremental.tables import LEVELS, State, Tables
from libs.assignment.kernels.jit import compiled, part
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.solvers.local.random_draws import random_below, seed_random

RUN_MAX = 12
"""Most moves in a run."""
MEMBERS_MAX = 200
"""Most objects of both containers that a run considers. From more it draws some at random."""


class Members(NamedTuple):
    """Linked lists of the objects in each container, which a move updates in a few steps; -1 ends a list.

    first   (C,) an object of the container
    after   (N,) the next object of the same container
    before  (N,) the previous one
    """

    first: Ints
    after: Ints
    before: Ints


def members_of(assignment: Ints, objects: Ints, containers: int) -> Members:
    """Return the lists of the given objects."""
    found = Members(*(np.full(size, -1, dtype=np.int64) for size in (containers, len(assignment), len(assignment))))
    order = objects[np.argsort(assignment[objects], kind="stable")]
    where = assignment[order]
    begins = np.concatenate([[True], where[1:] != where[:-1]])[: len(order)]
    found.first[where[begins]] = order[begins]
    follows = np.flatnonzero(~begins)
    found.after[order[follows - 1]], found.before[order[follows]] = order[follows], order[follows - 1]
    return found


@part
def relist(m: Members, o: int, a: int, b: int) -> None:
    """Move an object from the list of container a to that of b."""
    before, after = m.before[o], m.after[o]
    if before >= 0:
        m.after[before] = after
    else:
        m.first[a] = after
    if after >= 0:
        m.before[after] = before
    first = m.first[b]
    m.before[o], m.after[o], m.first[b] = -1, first, o
    if first >= 0:
        m.before[first] = o


@part
def collect(g: Tables, s: State, m: Members, a: int, b: int, members: Ints) -> int:
    """Collect the objects of two containers in `members`, a random sample if they do not fit. Return their number."""
    seen = 0
    for container in (a, b):
        o = m.first[container]
        while o >= 0:
            seen += 1
            if seen <= len(members):
                members[seen - 1] = o
            else:
                at = random_below(g, s, seen)
                if at < len(members):
                    members[at] = o
            o = m.after[o]
    return seen


@part
def best_move(g: Tables, s: State, level: int, a: int, b: int, members: Ints, count: int, tolerance: Floats) -> int:
    """Return the index in `members` of the object whose move to the other container costs least; -1: no object can move
    without a loss at a higher priority.
    """
    levels, best, least = g.node[0, LEVELS], -1, 0.0
    for k in range(count):
        ask(g, s, 0, members[k], b if s.whole[members[k]] == a else a)
        if not evaluate_single(g, s):
            continue
        worse = False
        for above in range(level):
            worse = worse or s.part[levels + above] > tolerance[above]
        if not worse and (best < 0 or s.part[levels + level] < least):
            best, least = k, s.part[levels + level]
    return best


@part
def cross(g: Tables, s: State, m: Members, o: int, a: int, b: int) -> None:
    """Move an object of one of two containers to the other."""
    here = s.whole[o]
    there = b if here == a else a
    ask(g, s, 0, o, there)
    make(g, s, 1)
    relist(m, o, here, there)


@compiled
def run_between(
    g: Tables,
    s: State,
    m: Members,
    level: int,
    pairs: Ints,
    tries_max: int,
    seed: int,
    tolerance: Floats,
    counts: Ints,
) -> None:
    """Make a run for each pair of containers (P, 2), until the tries are used up. Each evaluated object is a try.

    m        lists of the movable objects; updated
    counts   output: changes tried, changes kept, pairs examined
    """
    g, s = borrow_tables(g), borrow_state(s)
    seed_random(g, s, seed)
    members, made = counts[3 : 3 + MEMBERS_MAX], counts[3 + MEMBERS_MAX :]
    tried = kept = looked = 0
    for p in range(len(pairs)):
        if tried >= tries_max:
            break
        looked += 1
        a, b = pairs[p, 0], pairs[p, 1]
        seen = collect(g, s, m, a, b, members)
        tried, count = tried + seen, min(seen, MEMBERS_MAX)
        start, best, best_at, run = s.part[level], s.part[level], 0, 0
        while run < RUN_MAX and count > 0 and tried + count <= tries_max:
            tried += count
            k = best_move(g, s, level, a, b, members, count, tolerance)
            if k < 0:
                break
            cross(g, s, m, members[k], a, b)
            made[run] = members[k]
            run += 1
            count -= 1
            members[k] = members[count]
            if s.part[level] < best - tolerance[level]:
                best, best_at = s.part[level], run
        for back in range(run - 1, best_at - 1, -1):
            cross(g, s, m, made[back], a, b)
        if best < start:
            kept += best_at
    counts[0], counts[1], counts[2] = tried, kept, looked
