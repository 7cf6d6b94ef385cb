"""Evaluate stacks. A stack stores side by side the quantities that many cells count in the same rows.

A stack has layers, the quantities of its rows: held[row, layer] is the sum of values[object, layer] over the objects in
the row. Its first LAYERS_NEW layers count only objects outside their initial place. Cells read layers, each with its
own constant and scale per row:

    guard   scale * held + constant <= 0, a hard constraint; `weight` times any excess counts in level 0
    curve   weight * function(scale * held + constant), of a goal or a soft constraint

Checks that fail often come first. A change is checked against all guards of all stacks, then against all other hard
constraints. Only then are the curves added up.
"""

from __future__ import annotations

from libs.assignment.incremental.functions import apply_function
from libs.assignment.incremental.tables import (
    CURVE,
    CURVE_OF_ROW,
    CURVES,
    EXCESS,
    GUARD,
    GUARDED,
    HELD,
    INITIAL_AT,
    ITEM_AT,
    LAYERS,
    LAYERS_NEW,
    LEVELS,
    LIMIT,
    MOVES_AT,
    ONE,
    OVER_CHANGE,
    OVER_MAX,
    OVER_ROWS,
    PRICE,
    ROW_KIND,
    ROW_MAP,
    SAME,
    STACK,
    STACK_VALUES,
    STACKS,
    SUMS,
    TOUCHED,
    WEIGHT,
    State,
    Tables,
)
from libs.assignment.kernels.jit import part

PLAIN, POSITIVE = 0, 1
"""Functions of most curves: cell.IDENTITY and cell.POSITIVE_PART."""


@part
def row_of(g: Tables, n: int, container: int) -> int:
    """Return the row of a stack that contains a container, or -1."""
    kind = g.node[n, ROW_KIND]
    if kind == ONE:
        return int(g.lookup[g.node[n, ROW_MAP] + container])
    return container if kind == SAME else 0


@part
def add_up(g: Tables, s: State, n: int, moves: int) -> int:
    """Write the rows of a stack that the moves touch (destinations first), with their changes. Return their number."""
    layers, fresh, item = g.node[n, LAYERS], g.node[n, LAYERS_NEW], g.node[n, ITEM_AT]
    asked, initial, rows, count = g.node[0, MOVES_AT], g.node[0, INITIAL_AT], g.node[n, TOUCHED] + 1, 0
    for k in range(asked, asked + 3 * moves, 3):
        o = s.whole[k]
        values = g.number[g.node[n, STACK_VALUES] + o * layers :][:layers]
        home = g.lookup[item + g.lookup[initial + o]] if fresh > 0 else 0
        for end in range(2, 0, -1):
            container = s.whole[k + end]
            row = row_of(g, n, container)
            if row < 0:
                continue
            since = fresh if fresh > 0 and g.lookup[item + container] == home else 0
            t = 0
            while t < count and s.whole[rows + t] != row:
                t += 1
            sums = s.part[g.node[n, SUMS] + t * layers :][:layers]
            if t == count:
                s.whole[rows + t] = row
                count += 1
                for q in range(since):
                    sums[q] = 0.0
                if end == 2:
                    for q in range(since, layers):
                        sums[q] = values[q]
                else:
                    for q in range(since, layers):
                        sums[q] = -values[q]
            elif end == 2:
                for q in range(since, layers):
                    sums[q] += values[q]
            else:
                for q in range(since, layers):
                    sums[q] -= values[q]
    s.whole[rows - 1] = count
    return count


@part
def check_guards(g: Tables, s: State, n: int, count: int, commit: bool) -> bool:
    """Return whether a change keeps every guard of a stack within its limit, or no further above it than now. Add the
    change of the excess to level 0.

    With bent limits (soft_limits.py) an excess has a price. The rows are added one by one. The change is forbidden as
    soon as the price so far is too high, even if a later row would lower it again. So one expensive row does not
    outweigh all others.
    """
    layers, guards, layer = g.node[n, LAYERS], g.node[n, GUARDED], g.node[n, GUARD]
    overs = 2 * g.node[0, LEVELS]
    for t in range(count):
        row = s.whole[g.node[n, TOUCHED] + 1 + t]
        held = s.part[g.node[n, HELD] + row * layers :][:layers]
        sums = s.part[g.node[n, SUMS] + t * layers :][:layers]
        limits = g.number[g.node[n, LIMIT] + row * guards :][:guards]
        for i in range(guards):
            q, limit = g.lookup[layer + i], limits[i]
            x = held[q]
            y = x + sums[q]
            if y > limit or x > limit:
                excess = g.node[n, EXCESS] + 2 * (row * guards + i)
                growth = max(y, limit) - max(x, limit)
                if s.part[overs + OVER_MAX] > 0.0:
                    limit += g.number[excess]
                    more = max(y, limit) - max(x, limit)
                    s.part[overs + OVER_CHANGE] += s.part[g.node[n, PRICE] + row * guards + i] * more
                    if commit:
                        s.part[overs + OVER_ROWS] += (1.0 if y > limit else 0.0) - (1.0 if x > limit else 0.0)
                    elif s.part[overs + OVER_CHANGE] > s.part[overs + OVER_MAX]:
                        return False
                elif growth > g.number[excess] and not commit:
                    return False
                s.part[g.node[0, LEVELS]] += g.number[excess + 1] * growth
    return True


@part
def check_stacks(g: Tables, s: State, moves: int, commit: bool) -> bool:
    """Add up the changes of all stacks by the moves, and check their guards. Return False if one forbids them."""
    for n in range(g.node[0, STACK], g.node[0, STACK] + g.node[0, STACKS]):
        count = add_up(g, s, n, moves)
        if not check_guards(g, s, n, count, commit):
            return False
    return True


@part
def bend(g: Tables, s: State, n: int, t: int) -> None:
    """Add to the levels the changes of the curves of the t-th touched row of a stack."""
    levels, layers, curves = g.node[0, LEVELS], g.node[n, LAYERS], g.node[n, CURVES]
    row = s.whole[g.node[n, TOUCHED] + 1 + t]
    held = s.part[g.node[n, HELD] + row * layers :][:layers]
    sums = s.part[g.node[n, SUMS] + t * layers :][:layers]
    of_row = g.number[g.node[n, CURVE_OF_ROW] + row * 2 * curves :][: 2 * curves]
    weights = g.number[g.node[n, WEIGHT] :][: 2 * curves]
    curve = g.lookup[g.node[n, CURVE] :][: 3 * curves]
    total, level = 0.0, curve[2] if curves > 0 else 0
    for i in range(curves):
        q, function, scale = curve[3 * i], curve[3 * i + 1], of_row[2 * i + 1]
        if curve[3 * i + 2] != level:
            s.part[levels + level] += total
            total, level = 0.0, curve[3 * i + 2]
        d = scale * sums[q]
        x = of_row[2 * i] + scale * held[q]
        if function == POSITIVE:
            total += weights[2 * i] * (max(x + d, 0.0) - max(x, 0.0))
        elif function == PLAIN:
            total += weights[2 * i] * d
        elif d != 0.0:
            parameter = weights[2 * i + 1]
            dy = apply_function(function, parameter, x + d) - apply_function(function, parameter, x)
            total += weights[2 * i] * dy
    s.part[levels + level] += total


@part
def settle_stacks(g: Tables, s: State, commit: bool) -> None:
    """Add up the curves of all stacks, and with `commit` change the held amounts."""
    for n in range(g.node[0, STACK], g.node[0, STACK] + g.node[0, STACKS]):
        layers = g.node[n, LAYERS]
        for t in range(s.whole[g.node[n, TOUCHED]]):
            bend(g, s, n, t)
            if commit:
                held = g.node[n, HELD] + s.whole[g.node[n, TOUCHED] + 1 + t] * layers
                for q in range(layers):
                    s.part[held + q] += s.part[g.node[n, SUMS] + t * layers + q]
