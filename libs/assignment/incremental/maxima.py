"""Settle MAX cells. A segment is the set of elements over which one maximum is taken."""

from __future__ import annotations

import math

from libs.assignment.incremental.borrow import borrow_state, borrow_tables
from libs.assignment.incremental.propagation import emit
from libs.assignment.incremental.tables import (
    COLUMNS,
    OVER,
    PARAMETER,
    ROWS,
    TOP_AT,
    WORK_AT,
    X_AT,
    State,
    Tables,
)
from libs.assignment.kernels.jit import callee, part


@part
def segment(g: Tables, n: int, key: int) -> int:
    """Return the maximum that an element of a MAX cell belongs to."""
    over = g.node[n, OVER]
    return 0 if over == 3 else (key % g.node[n, COLUMNS] if over == 1 else key // g.node[n, COLUMNS])


@callee
def settle_max(g: Tables, s: State, n: int, commit: bool) -> None:
    """Settle a MAX cell. Read all elements of a segment only if one of its largest falls."""
    g, s = borrow_tables(g), borrow_state(s)
    first, at, top, over = g.node[n, WORK_AT] + 2, g.node[n, X_AT], g.node[n, TOP_AT], g.node[n, OVER]
    touched = s.whole[first - 2]
    s.whole[first - 2] = 0
    for t in range(first, first + touched):
        here, seen = segment(g, n, s.whole[t]), False
        for before in range(first, t):
            if segment(g, n, s.whole[before]) == here:
                seen = True
                break
        if seen:
            if over == 3:
                break
            continue
        old = s.part[top + here]
        new = largest_after(g, s, n, here, t, first + touched, old)
        if new != old:
            if commit:
                s.part[top + here] = new
            emit(g, s, n, 0 if over == 1 else here, here if over == 1 else 0, new - old)
    for t in range(first, first + touched):
        place = at + 2 * s.whole[t]
        if commit:
            s.part[place] += s.part[place + 1]
        s.part[place + 1] = 0.0


@part
def largest_after(g: Tables, s: State, n: int, here: int, since: int, until: int, old: float) -> float:
    """Return the n-th largest value of a segment after the change."""
    at, rank = g.node[n, X_AT], int(g.real[n, PARAMETER])
    if rank == 0:
        best, fell = -math.inf, False
        for t in range(since, until):
            if segment(g, n, s.whole[t]) == here:
                place = at + 2 * s.whole[t]
                best = max(best, s.part[place] + s.part[place + 1])
                fell = fell or s.part[place] >= old
        if best >= old or not fell:
            return max(best, old)
    rows, columns, over = g.node[n, ROWS], g.node[n, COLUMNS], g.node[n, OVER]
    if over == 3:
        start, stride, length = at, 2, rows * columns
    elif over == 1:
        start, stride, length = at + 2 * here, 2 * columns, rows
    else:
        start, stride, length = at + 2 * here * columns, 2, columns
    return nth_largest(s, start, stride, length, rank, old if rank == 0 else math.inf)


@part
def nth_largest(s: State, start: int, stride: int, length: int, rank: int, enough: float) -> float:
    """Return the value that has `rank` others before it from the largest down. Stop early at a value of `enough`."""
    ceiling, left = math.inf, rank + 1
    while True:
        best, ties = -math.inf, 0
        for place in range(start, start + length * stride, stride):
            y = s.part[place] + s.part[place + 1]
            if y < ceiling:
                if y > best:
                    best, ties = y, 1
                    if y >= enough:
                        break
                elif y == best:
                    ties += 1
        left -= ties
        if left <= 0 or ties == 0:
            return best
        ceiling = best
