"""What a change of the assignment adds to the objective: compiled, and without touching what it does not change."""

from __future__ import annotations

import math

from libs.assignment.arrays import Floats, Ints
from libs.assignment.expressions.ceil import CEIL_TOLERANCE
from libs.assignment.expressions.step import STEP_TOLERANCE
from libs.assignment.search.jit import compiled, part
from libs.assignment.search.tables import (
    ALL,
    CELLS,
    CHANGE_AT,
    CLASS_AT,
    COEFFICIENT,
    COLUMN_KIND,
    COLUMN_MAP,
    COLUMNS,
    DEFAULT_COLUMN_AT,
    DEFAULT_ROW_AT,
    DIRECT,
    FACTOR,
    FACTOR_ITEM_AT,
    FACTOR_WIDTH,
    FLAVOUR,
    FUNCTION,
    HARD,
    INITIAL_AT,
    ITEM_AT,
    LEAF,
    LEAVES,
    LEVELS,
    LINK,
    MOVES_AT,
    MOVES_MAX,
    ONE,
    OVER,
    PARAMETER,
    ROW_KIND,
    ROW_MAP,
    ROWS,
    SAME,
    SLOT_AT,
    SLOTS,
    TARGET,
    TOLERANCE,
    TOP_AT,
    VALUE,
    VALUES_AT,
    VALUES_WIDTH,
    WORK_AT,
    X_AT,
    State,
    Tables,
)

TINY = 1e-300
"""Stands for a change that adds up to nothing, so that a touched element is told from an untouched one."""
EMPTY = -1
NOTHING = 1e-9
"""What differs by no more than this from an element's default may be forgotten."""


@part
def apply_function(function: int, parameter: float, x: float) -> float:
    """The elementwise functions, by their codes."""
    if function == 1:
        return x if x > 0.0 else 0.0
    if function == 0:
        return x
    if function == 2:
        return 1.0 if x > STEP_TOLERANCE else 0.0
    if function == 3:
        return math.ceil(x - CEIL_TOLERANCE)
    if x <= 0.0:
        return 0.0
    if function == 4:
        return math.log1p(x)
    return x * x if parameter == 2.0 else x**parameter


@part
def find_slot(g: Tables, s: State, n: int, key: int) -> int:
    """The slot of a key in a cell that is not dense, or -1 - the slot where it would go."""
    at, mask = g.node[n, SLOT_AT], g.node[n, SLOTS] - 1
    h = ((key ^ (key >> 17)) * 0x9E3779B1) & mask
    while True:
        here = s.whole[at + h]
        if here == key:
            return int(h)
        if here == EMPTY:
            return int(-1 - h)
        h = (h + 1) & mask


@part
def default_x(g: Tables, n: int, key: int) -> float:
    """What an element without a slot holds."""
    columns = g.node[n, COLUMNS]
    of_row = g.number[g.node[n, DEFAULT_ROW_AT] + key // columns]
    return float(of_row + g.number[g.node[n, DEFAULT_COLUMN_AT] + key % columns])


@part
def push(g: Tables, s: State, n: int, row: int, column: int, d: float) -> None:
    """Add d to an element of a cell, for the change under way."""
    key, work = row * g.node[n, COLUMNS] + column, g.node[n, WORK_AT]
    touched = s.whole[work]
    if g.node[n, SLOTS] == 0:
        at = g.node[n, X_AT] + 2 * key + 1
        was = s.part[at]
        if was == 0.0:
            s.whole[work + 2 + touched] = key
            s.whole[work] = touched + 1
        d += was
        s.part[at] = d if d != 0.0 else TINY
        return
    first = g.node[n, CHANGE_AT]
    for t in range(touched):
        if s.whole[work + 2 + t] == key:
            s.part[first + t] += d
            return
    s.whole[work + 2 + touched] = key
    s.part[first + touched] = d
    s.whole[work] = touched + 1


@part
def push_row(g: Tables, s: State, n: int, row: int, via: int, source: int, d: float) -> None:
    """Add d to those columns of a row that a leaf or link (the node `via`) maps a column or object to."""
    kind, at = g.node[via, COLUMN_KIND], g.node[via, COLUMN_MAP]
    if kind == ALL:
        push(g, s, n, row, 0, d)
    elif kind == SAME:
        push(g, s, n, row, source, d)
    elif kind == ONE:
        if g.lookup[at + source] >= 0:
            push(g, s, n, row, g.lookup[at + source], d * g.number[g.lookup[at - 1] + source])
    else:
        by = g.lookup[at - 1]
        for k in range(g.lookup[at + source], g.lookup[at + source + 1]):
            push(g, s, n, row, g.lookup[k], d * g.number[by + k])


@part
def push_map(g: Tables, s: State, n: int, via: int, row: int, column: int, d: float) -> None:
    """Add d to what a leaf or link maps a row (or container) and a column (or object) to."""
    kind, at = g.node[via, ROW_KIND], g.node[via, ROW_MAP]
    if kind == ONE:
        if g.lookup[at + row] >= 0:
            push_row(g, s, n, g.lookup[at + row], via, column, d * g.number[g.lookup[at - 1] + row])
    elif kind == SAME:
        push_row(g, s, n, row, via, column, d)
    elif kind == ALL:
        push_row(g, s, n, 0, via, column, d)
    else:
        by = g.lookup[at - 1]
        for k in range(g.lookup[at + row], g.lookup[at + row + 1]):
            push_row(g, s, n, g.lookup[k], via, column, d * g.number[by + k])


@part
def push_leaf(g: Tables, s: State, n: int, leaf: int, o: int, container: int, d: float) -> None:
    """Add what an object takes in a container (with a sign, in d) to a cell."""
    table = g.node[leaf, FACTOR]
    if table >= 0:
        item = g.lookup[g.node[leaf, FACTOR_ITEM_AT] + container]
        if item < 0:
            return
        d *= g.number[table + g.lookup[g.node[leaf, CLASS_AT] + o] * g.node[leaf, FACTOR_WIDTH] + item]
    if d != 0.0:
        push_map(g, s, n, leaf, container, o, d)


@part
def push_move(g: Tables, s: State, n: int, leaf: int, o: int, a: int, b: int) -> None:
    """Add what moving object o from a to b changes in a cell by one leaf."""
    v = g.number[g.node[0, VALUES_AT] + o * g.node[0, VALUES_WIDTH] + g.node[leaf, VALUE]]
    if v == 0.0:
        return
    flavour, before, after = g.node[leaf, FLAVOUR], -v, v
    if flavour > 0:
        item, home = g.node[leaf, ITEM_AT], g.lookup[g.node[0, INITIAL_AT] + o]
        was, now = g.lookup[item + a] == g.lookup[item + home], g.lookup[item + b] == g.lookup[item + home]
        if flavour == 2:
            if was == now:
                return
            a, before, after = home, v if was else -v, 0.0
        else:
            before, after = 0.0 if was else -v, 0.0 if now else v
    if before != 0.0:
        push_leaf(g, s, n, leaf, o, a, before)
    if after != 0.0:
        push_leaf(g, s, n, leaf, o, b, after)


@part
def emit(g: Tables, s: State, n: int, row: int, column: int, d: float) -> None:
    """Tell every cell and level that reads an element that it has changed by d."""
    for link in range(g.node[n, LINK], g.node[n + 1, LINK]):
        target, dy = g.node[link, TARGET], g.real[link, COEFFICIENT] * d
        if target < 0:
            s.part[g.node[0, LEVELS] - 1 - target] += dy
        else:
            push_map(g, s, target, link, row, column, dy)


@part
def forget(g: Tables, s: State, n: int, since: int, touched: int) -> None:
    """Take back what has been pushed into a cell."""
    work = g.node[n, WORK_AT]
    if g.node[n, SLOTS] == 0:
        at = g.node[n, X_AT] + 1
        for t in range(work + 2 + since, work + 2 + touched):
            s.part[at + 2 * s.whole[t]] = 0.0
    s.whole[work] = 0


@part
def settle(g: Tables, s: State, n: int, commit: bool) -> bool:
    """Apply a cell's function to what has been pushed into it and tell its readers. False: a hard element would
    grow.
    """
    work, at, slots, columns = g.node[n, WORK_AT], g.node[n, X_AT], g.node[n, SLOTS], g.node[n, COLUMNS]
    function, parameter = g.node[n, FUNCTION], g.real[n, PARAMETER]
    hard = g.node[n, HARD] == 1 and not commit
    touched = s.whole[work]
    s.whole[work] = 0
    for t in range(touched):
        key = s.whole[work + 2 + t]
        place = at + 2 * key
        if slots == 0:
            x, d = s.part[place], s.part[place + 1]
            s.part[place + 1] = 0.0
            if commit:
                s.part[place] = x + d
        else:
            d = s.part[g.node[n, CHANGE_AT] + t]
            slot = find_slot(g, s, n, key)
            x = s.part[at + slot] if slot >= 0 else default_x(g, n, key)
            if commit:
                if slot < 0:
                    slot = -1 - slot
                    s.whole[g.node[n, SLOT_AT] + slot] = key
                    s.whole[work + 1] += 1
                s.part[at + slot] = x + d
        if d == TINY:
            continue
        dy = apply_function(function, parameter, x + d) - apply_function(function, parameter, x)
        if dy == 0.0:
            continue
        if hard and dy > g.real[n, TOLERANCE]:
            forget(g, s, n, t + 1, touched)
            return False
        emit(g, s, n, key // columns, key % columns, dy)
    if commit and slots > 0 and 4 * s.whole[work + 1] > 3 * slots:
        drop_defaults(g, s, n)
    return True


@part
def segment(g: Tables, n: int, key: int) -> int:
    """Which maximum of a MAX cell an element belongs to."""
    over = g.node[n, OVER]
    return 0 if over == 3 else (key % g.node[n, COLUMNS] if over == 1 else key // g.node[n, COLUMNS])


@part
def settle_max(g: Tables, s: State, n: int, commit: bool) -> None:
    """The same for a cell that takes maxima: only where a largest element falls are the others looked at."""
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
    """The n-th largest of a segment after the change."""
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
    """By lowering a ceiling until rank values, ties included, lie above it; a value of `enough` ends it."""
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


@part
def drop_defaults(g: Tables, s: State, n: int) -> None:
    """Make room: elements that hold what they would hold without a slot lose it."""
    at, slot_at, slots = g.node[n, X_AT], g.node[n, SLOT_AT], g.node[n, SLOTS]
    keys, xs = s.whole[slot_at : slot_at + slots].copy(), s.part[at : at + slots].copy()
    s.whole[slot_at : slot_at + slots] = EMPTY
    kept = 0
    for k in range(slots):
        if keys[k] != EMPTY and abs(xs[k] - default_x(g, n, keys[k])) > NOTHING:
            slot = -1 - find_slot(g, s, n, keys[k])
            s.whole[slot_at + slot], s.part[at + slot] = keys[k], xs[k]
            kept += 1
    s.whole[g.node[n, WORK_AT] + 1] = kept


@part
def settle_direct(g: Tables, s: State, moves: int, commit: bool) -> bool:
    """All direct cells at once: what most of a problem's cells are, without a list of what is touched."""
    levels, asked, objects = g.node[0, LEVELS], g.node[0, MOVES_AT], g.node[0, VALUES_AT]
    width, initial = g.node[0, VALUES_WIDTH], g.node[0, INITIAL_AT]
    keys, ds = asked + 3 * MOVES_MAX, 2 * levels
    for n in range(1, g.node[0, DIRECT] + 1):
        columns, first, count = g.node[n, COLUMNS], g.node[n, LEAF], 0
        for leaf in range(first, first + g.node[n, LEAVES]):
            row_kind, row_map = g.node[leaf, ROW_KIND], g.node[leaf, ROW_MAP]
            column_kind, column_map = g.node[leaf, COLUMN_KIND], g.node[leaf, COLUMN_MAP]
            value, flavour, item = g.node[leaf, VALUE], g.node[leaf, FLAVOUR], g.node[leaf, ITEM_AT]
            table = g.node[leaf, FACTOR]
            for k in range(asked, asked + 3 * moves, 3):
                o = s.whole[k]
                v = g.number[objects + o * width + value]
                column = 0
                if column_kind == ONE:
                    column = g.lookup[column_map + o]
                    if column < 0:
                        continue
                    v *= g.number[g.lookup[column_map - 1] + o]
                elif column_kind == SAME:
                    column = o
                if v == 0.0:
                    continue
                for end in range(1, 3):
                    container, d = s.whole[k + end], v if end == 2 else -v
                    if flavour > 0:
                        home = g.lookup[initial + o]
                        at_home = g.lookup[item + container] == g.lookup[item + home]
                        if at_home == (flavour == 1):
                            continue
                        if flavour == 2:
                            container, d = home, -d
                    if table >= 0:
                        spot = g.lookup[g.node[leaf, FACTOR_ITEM_AT] + container]
                        if spot < 0:
                            continue
                        kind = g.lookup[g.node[leaf, CLASS_AT] + o]
                        d *= g.number[table + kind * g.node[leaf, FACTOR_WIDTH] + spot]
                    row = 0
                    if row_kind == ONE:
                        row = g.lookup[row_map + container]
                        if row < 0:
                            continue
                        d *= g.number[g.lookup[row_map - 1] + container]
                    elif row_kind == SAME:
                        row = container
                    key, known = row * columns + column, 0
                    while known < count and s.whole[keys + known] != key:
                        known += 1
                    if known < count:
                        s.part[ds + known] += d
                    else:
                        s.whole[keys + count], s.part[ds + count] = key, d
                        count += 1
        function, parameter, at = g.node[n, FUNCTION], g.real[n, PARAMETER], g.node[n, X_AT]
        hard, total = g.node[n, HARD] == 1 and not commit, 0.0
        for t in range(count):
            place, d = at + 2 * s.whole[keys + t], s.part[ds + t]
            x = s.part[place]
            if commit:
                s.part[place] = x + d
            dy = apply_function(function, parameter, x + d) - apply_function(function, parameter, x)
            if hard and dy > g.real[n, TOLERANCE]:
                return False
            total += dy
        if total != 0.0:
            for link in range(g.node[n, LINK], g.node[n + 1, LINK]):
                s.part[levels - 1 - g.node[link, TARGET]] += g.real[link, COEFFICIENT] * total
    return True


@compiled
def fill_slots(g: Tables, s: State, n: int, keys: Ints, xs: Floats) -> None:
    """Give elements of a cell that is not dense their slots."""
    for k in range(len(keys)):
        slot = -1 - find_slot(g, s, n, keys[k])
        s.whole[g.node[n, SLOT_AT] + slot], s.part[g.node[n, X_AT] + slot] = keys[k], xs[k]


@part
def change(g: Tables, s: State, moves: int, commit: bool) -> bool:
    """What the moves that were asked about, all at once, add to each level of the objective.

    The answer is in `part`, from LEVELS on. False: a hard constraint would break or get worse, and nothing has
    changed. With
    `commit` the moves are made, and constraints are not looked at again.
    """
    levels, cells, asked = g.node[0, LEVELS], g.node[0, CELLS], g.node[0, MOVES_AT]
    for level in range(levels):
        s.part[levels + level] = 0.0
    if not settle_direct(g, s, moves, commit):
        return False
    for n in range(g.node[0, DIRECT] + 1, cells + 1):
        first = g.node[n, LEAF]
        for leaf in range(first, first + g.node[n, LEAVES]):
            for k in range(asked, asked + 3 * moves, 3):
                push_move(g, s, n, leaf, s.whole[k], s.whole[k + 1], s.whole[k + 2])
        touched = s.whole[g.node[n, WORK_AT]]
        if touched == 0:
            continue
        if g.node[n, FUNCTION] == 6:
            settle_max(g, s, n, commit)
        elif not settle(g, s, n, commit):
            for later in range(n + 1, cells + 1):
                forget(g, s, later, 0, s.whole[g.node[later, WORK_AT]])
            return False
    if commit:
        for k in range(asked, asked + 3 * moves, 3):
            s.whole[s.whole[k]] = s.whole[k + 2]
        for level in range(levels):
            s.part[level] += s.part[levels + level]
    return True


@part
def ask(g: Tables, s: State, k: int, o: int, b: int) -> None:
    """Put object o going to container b at place k of the change that is asked about."""
    at = g.node[0, MOVES_AT] + 3 * k
    s.whole[at], s.whole[at + 1], s.whole[at + 2] = o, s.whole[o], b


@compiled
def try_moves(g: Tables, s: State, objects: Ints, containers: Ints, commit: bool) -> bool:
    """`change` for the objects and the containers that they go to; at most MOVES_MAX."""
    for k in range(len(objects)):
        ask(g, s, k, objects[k], containers[k])
    return change(g, s, len(objects), commit)
