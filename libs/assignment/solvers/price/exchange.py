"""Make room for an object: remove objects of less worth, or objects of a level that may lose some."""

from __future__ import annotations

import math

import numpy as np

from libs.assignment.kernels.jit import compiled, part
from libs.assignment.kernels.xorshift import below_at
from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.solvers.price.group_counts import RANDOM, Held, add, allowed

OUT_MAX = 64
"""Most objects that one may replace."""
SHAPES_TRIED = 3
"""Shapes to try for one object, best first."""
BETTER = 1e-9
"""Least gain of an exchange, as a share of the new object's gain."""


@part
def gain_in(o: int, s: int, worth: Floats, kind: Ints, factor: Floats) -> float:
    """Return the gain of a placed object in its shape."""
    found = 0.0
    for g in range(worth.shape[1]):
        found += worth[o, g] * factor[kind[o], s, g]
    return found


@part
def unlink(o: int, c: int, head: Ints, ahead: Ints, behind: Ints) -> None:
    """Take an object out of its container's list."""
    if behind[o] >= 0:
        ahead[behind[o]] = ahead[o]
    else:
        head[c] = ahead[o]
    if ahead[o] >= 0:
        behind[ahead[o]] = behind[o]


@part
def link(o: int, c: int, head: Ints, ahead: Ints, behind: Ints) -> None:
    """Put an object at the front of a container's list."""
    ahead[o], behind[o] = head[c], -1
    if head[c] >= 0:
        behind[head[c]] = o
    head[c] = o


@part
def share_below(l: int, level: int, gone: Ints, placed: Ints, members: Ints) -> float:
    """Return the largest placed share of the levels under l, after one object of `level` has come in and `gone` have
    left.
    """
    most = 0.0
    for k in range(l):
        if members[k] > 0:
            here = placed[k] - gone[k] + (1 if k == level else 0)
            most = max(most, here / members[k])
    return most


@part
def may_go(r: int, o: int, level: Ints, gone: Ints, placed: Ints, members: Ints) -> bool:
    """Return whether r may leave for o without its own level falling behind. Without levels any object may leave."""
    if len(level) == 0:
        return True
    l = level[r]
    if l == level[o]:
        return False
    share: float = (placed[l] - gone[l] - 1) / members[l]
    return share >= share_below(l, level[o], gone, placed, members)


@part
def who_gives_way(
    o: int,
    c: int,
    s: int,
    need: Floats,
    worth: Floats,
    kind: Ints,
    factor: Floats,
    left: Floats,
    head: Ints,
    ahead: Ints,
    level: Ints,
    placed: Ints,
    members: Ints,
    gone: Ints,
    out: Ints,
    worth_it: float,
) -> tuple[int, float]:
    """Find objects of a container that together leave enough room for `o`, and their gain in it; -1: none found.

    Choose first the objects with the least loss per missing room that they leave. Then keep those that are not needed
    after all. Stop once the lost gain exceeds `worth_it`.
    """
    dimensions, count, loss = need.shape[1], 0, 0.0
    lack = np.empty(dimensions)
    for d in range(dimensions):
        lack[d] = max(need[o, d] - left[c, d], 0.0)
    first_lack = lack.copy()
    gone[:] = 0
    while count < OUT_MAX and loss < worth_it:
        open_lack = False
        for d in range(dimensions):
            open_lack = open_lack or lack[d] > 0.0
        if not open_lack:
            break
        best, least = -1, math.inf
        r = head[c]
        while r >= 0:
            fresh = True
            for k in range(count):
                fresh = fresh and out[k] != r
            if fresh and may_go(r, o, level, gone, placed, members):
                filled = 0.0
                for d in range(dimensions):
                    if lack[d] > 0.0:
                        filled += min(need[r, d], lack[d]) / first_lack[d]
                if filled > 0.0:
                    price = gain_in(r, s, worth, kind, factor) / filled
                    if price < least:
                        best, least = r, price
            r = ahead[r]
        if best < 0:
            return -1, 0.0
        out[count] = best
        count += 1
        loss += gain_in(best, s, worth, kind, factor)
        if len(level) > 0:
            gone[level[best]] += 1
        for d in range(dimensions):
            lack[d] -= need[best, d]
    for d in range(dimensions):
        if lack[d] > 0.0:
            return -1, 0.0
    k = 0
    while k < count:
        spare = True
        for d in range(dimensions):
            spare = spare and lack[d] + need[out[k], d] <= 0.0
        if spare and count > 1:
            r = out[k]
            loss -= gain_in(r, s, worth, kind, factor)
            if len(level) > 0:
                gone[level[r]] -= 1
            for d in range(dimensions):
                lack[d] += need[r, d]
            count -= 1
            out[k] = out[count]
        else:
            k += 1
    return count, loss


@compiled
def exchange(
    who: Ints,
    rank: Ints,
    tries: int,
    rising: bool,
    need: Floats,
    worth: Floats,
    kind: Ints,
    factor: Floats,
    movable: Bools,
    first: Ints,
    listed: Ints,
    level: Ints,
    placed: Ints,
    members: Ints,
    at: Ints,
    left: Floats,
    held: Held,
) -> int:
    """Let unplaced objects replace placed ones. Return the number of objects that came in.

    who      (n,) int     in order; each unplaced one is tried once
    rank     (n, W) int   their shapes, best first
    rising   an object comes in only while its level's share is below that of a lower one, at any loss of gain, and
             no object goes whose level would then fall behind; else an exchange must gain
    level    (N,) int     priorities; empty without `rising`
    placed, members  (L,) int  numbers of placed and of all objects of a level

    The table of groups must have room for all entries of `who` as additional keys.
    """
    head = np.full(len(left), -1, dtype=np.int64)
    ahead, behind = np.full(len(at), -1, dtype=np.int64), np.full(len(at), -1, dtype=np.int64)
    for o in range(len(at)):
        if at[o] >= 0 and movable[o]:
            link(o, at[o], head, ahead, behind)
    gone = np.zeros(max(len(members), 1), dtype=np.int64)
    out, chosen = np.empty(OUT_MAX, dtype=np.int64), np.empty(OUT_MAX, dtype=np.int64)
    done = 0
    for k in range(len(who)):
        o = who[k]
        if at[o] >= 0:
            continue
        if rising:
            gone[:] = 0
            if placed[level[o]] / members[level[o]] >= share_below(level[o], -1, gone, placed, members):
                continue
        best, best_count, best_gain = -1, 0, -math.inf
        for w in range(min(rank.shape[1], SHAPES_TRIED)):
            s = rank[k, w]
            if s < 0:
                break
            size = first[s + 1] - first[s]
            coming = gain_in(o, s, worth, kind, factor)
            offset = below_at(held.counter, RANDOM, size)
            for t in range(min(size, tries)):
                c = listed[first[s] + ((offset + t) % size if size <= tries else below_at(held.counter, RANDOM, size))]
                if not allowed(o, c, held):
                    continue
                count, loss = who_gives_way(
                    o,
                    c,
                    s,
                    need,
                    worth,
                    kind,
                    factor,
                    left,
                    head,
                    ahead,
                    level,
                    placed,
                    members,
                    gone,
                    out,
                    math.inf if rising else coming,
                )
                gained = coming - loss
                if count >= 0 and gained > best_gain and (rising or gained > BETTER * coming):
                    best, best_count, best_gain = c, count, gained
                    chosen[:count] = out[:count]
        if best < 0:
            continue
        for i in range(best_count):
            r = chosen[i]
            unlink(r, best, head, ahead, behind)
            at[r] = -1
            for d in range(need.shape[1]):
                left[best, d] += need[r, d]
            add(r, best, -1.0, held)
            if len(level) > 0:
                placed[level[r]] -= 1
        at[o] = best
        link(o, best, head, ahead, behind)
        for d in range(need.shape[1]):
            left[best, d] -= need[o, d]
        add(o, best, 1.0, held)
        if len(level) > 0:
            placed[level[o]] += 1
        done += 1
    return done
