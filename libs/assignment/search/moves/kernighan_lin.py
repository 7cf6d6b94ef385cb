"""Kernighan-Lin: between two containers, a run of moves that may get worse before it gets better.

From a container and one other, the best move of an object that has not moved in this run is made, be it worse, again
and again; then what came after the best point of the run is taken back. Source: B. W. Kernighan, S. Lin, An efficient
heuristic procedure for partitioning graphs (1970); Rebalancer, A.1.1 (KL_SEARCH).
"""

from __future__ import annotations

from libs.assignment.arrays import Floats, Ints
from libs.assignment.search.borrow import borrow_state, borrow_tables
from libs.assignment.search.delta import ask, evaluate_single, make
from libs.assignment.search.draw import random_below, seed_random
from libs.assignment.search.jit import compiled, part
from libs.assignment.search.tables import LEVELS, OBJECTS, State, Tables

RUN_MAX = 12
"""Moves in a run."""
MEMBERS_MAX = 200
"""Objects of both containers that a run looks at; of more, some at random."""


@part
def collect(g: Tables, s: State, a: int, b: int, members: Ints) -> int:
    """Put the objects of two containers into `members`. Returns how many there are."""
    count = seen = 0
    for o in range(g.node[0, OBJECTS]):
        if s.whole[o] == a or s.whole[o] == b:
            seen += 1
            if count < len(members):
                members[count] = o
                count += 1
            else:
                at = random_below(g, s, seen)
                if at < count:
                    members[at] = o
    return count


@part
def best_move(g: Tables, s: State, level: int, a: int, b: int, members: Ints, count: int, tolerance: Floats) -> int:
    """Where in `members` the object is whose change of side costs least and nothing above, or -1."""
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


@compiled
def run_between(
    g: Tables, s: State, level: int, pairs: Ints, tries_max: int, seed: int, tolerance: Floats, counts: Ints
) -> None:
    """One run for each pair of containers (P, 2), as long as tries last.

    `counts` is given back as (changes tried, changes kept, pairs looked at).
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
        count = collect(g, s, a, b, members)
        start, best, best_at, run = s.part[level], s.part[level], 0, 0
        while run < RUN_MAX and count > 0 and tried + count <= tries_max:
            tried += count
            k = best_move(g, s, level, a, b, members, count, tolerance)
            if k < 0:
                break
            ask(g, s, 0, members[k], b if s.whole[members[k]] == a else a)
            make(g, s, 1)
            made[run] = members[k]
            run += 1
            count -= 1
            members[k] = members[count]
            if s.part[level] < best - tolerance[level]:
                best, best_at = s.part[level], run
        for back in range(run - 1, best_at - 1, -1):
            ask(g, s, 0, made[back], b if s.whole[made[back]] == a else a)
            make(g, s, 1)
        if best < start:
            kept += best_at
    counts[0], counts[1], counts[2] = tried, kept, looked
