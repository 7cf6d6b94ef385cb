"""Propagate moves to the elements that read them."""

from __future__ import annotations

from libs.assignment.incremental.borrow import borrow_state, borrow_tables
from libs.assignment.incremental.tables import (
    CHANGE_AT,
    CLASS_AT,
    COEFFICIENT,
    COLUMN_KIND,
    COLUMN_MAP,
    COLUMNS,
    FACTOR,
    FACTOR_ITEM_AT,
    FACTOR_WIDTH,
    FLAVOUR,
    INITIAL_AT,
    ITEM_AT,
    LEVELS,
    LINK,
    MANY,
    ONE,
    ROW_KIND,
    ROW_MAP,
    SAME,
    SLOTS,
    TARGET,
    VALUE,
    VALUES_AT,
    VALUES_WIDTH,
    WORK_AT,
    X_AT,
    State,
    Tables,
)
from libs.assignment.kernels.jit import callee, part

TINY = 1e-300
"""Mark of a touched element if its changes add up to zero."""


@part
def push(g: Tables, s: State, n: int, row: int, column: int, d: float) -> None:
    """Add d to an element of a cell, for the present change."""
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


@callee
def push_map(g: Tables, s: State, n: int, via: int, row: int, column: int, d: float) -> None:
    """Add d to the images of a row (or container) and a column (or object) under a leaf or link, the node `via`."""
    g, s = borrow_tables(g), borrow_state(s)
    row_kind, column_kind = g.node[via, ROW_KIND], g.node[via, COLUMN_KIND]
    over, across = g.node[via, ROW_MAP], g.node[via, COLUMN_MAP]
    first, last, by = 0, 1, 0
    if row_kind == ONE:
        first, last, by = over + row, over + row + 1, g.lookup[over - 1] - over
    elif row_kind == MANY:
        first, last, by = g.lookup[over + row], g.lookup[over + row + 1], g.lookup[over - 1]
    left, right, times = 0, 1, 0
    if column_kind == ONE:
        left, right, times = across + column, across + column + 1, g.lookup[across - 1] - across
    elif column_kind == MANY:
        left, right, times = g.lookup[across + column], g.lookup[across + column + 1], g.lookup[across - 1]
    for k in range(first, last):
        to_row, dy = (row if row_kind == SAME else 0), d
        if row_kind >= ONE:
            to_row, dy = g.lookup[k], d * g.number[by + k]
        if to_row < 0:
            continue
        for j in range(left, right):
            to_column = column if column_kind == SAME else 0
            if column_kind >= ONE:
                to_column = g.lookup[j]
                if to_column >= 0:
                    push(g, s, n, to_row, to_column, dy * g.number[times + j])
            else:
                push(g, s, n, to_row, to_column, dy)


@part
def push_move(g: Tables, s: State, n: int, leaf: int, o: int, a: int, b: int) -> None:
    """Add to a cell the effect of moving object o from a to b through one leaf."""
    v = g.number[g.node[0, VALUES_AT] + o * g.node[0, VALUES_WIDTH] + g.node[leaf, VALUE]]
    if v == 0.0:
        return
    flavour, item, table = g.node[leaf, FLAVOUR], g.node[leaf, ITEM_AT], g.node[leaf, FACTOR]
    home = g.lookup[g.node[0, INITIAL_AT] + o]
    for end in range(1, 3):
        container, d = (b, v) if end == 2 else (a, -v)
        if flavour > 0:
            at_home = g.lookup[item + container] == g.lookup[item + home]
            if at_home == (flavour == 1):
                continue
            if flavour == 2:
                container, d = home, -d
        if table >= 0:
            spot = g.lookup[g.node[leaf, FACTOR_ITEM_AT] + container]
            if spot < 0:
                continue
            d *= g.number[table + g.lookup[g.node[leaf, CLASS_AT] + o] * g.node[leaf, FACTOR_WIDTH] + spot]
        if d != 0.0:
            push_map(g, s, n, leaf, container, o, d)


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
    """Undo the changes pushed into a cell."""
    work = g.node[n, WORK_AT]
    if g.node[n, SLOTS] == 0:
        at = g.node[n, X_AT] + 1
        for t in range(work + 2 + since, work + 2 + touched):
            s.part[at + 2 * s.whole[t]] = 0.0
    s.whole[work] = 0
