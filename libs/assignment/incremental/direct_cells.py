"""Settle direct cells: they read only the assignment, and each object counts in one element of them.

They need no lists of touched elements.
"""

from __future__ import annotations

from libs.assignment.incremental.functions import apply_function
from libs.assignment.incremental.propagation import emit
from libs.assignment.incremental.tables import (
    CLASS_AT,
    COEFFICIENT,
    COLUMN_KIND,
    COLUMN_MAP,
    COLUMNS,
    FACTOR,
    FACTOR_ITEM_AT,
    FACTOR_WIDTH,
    FLAVOUR,
    FUNCTION,
    HARD,
    INITIAL_AT,
    ITEM_AT,
    KEYS,
    LEAF,
    LEAVES,
    LEVELS,
    LINK,
    MOVES_AT,
    ONE,
    PARAMETER,
    READ,
    ROW_KIND,
    ROW_MAP,
    SAME,
    TARGET,
    TOLERANCE,
    VALUE,
    VALUES_AT,
    VALUES_WIDTH,
    X_AT,
    State,
    Tables,
)
from libs.assignment.kernels.jit import part


@part
def target_of(g: Tables, kind: int, at: int, source: int) -> int:
    """Return the target of a source in a map with one target per source, or -1."""
    if kind == ONE:
        return int(g.lookup[at + source])
    return source if kind == SAME else 0


@part
def gather(g: Tables, s: State, n: int, moves: int) -> int:
    """Find the elements of a direct cell that the moves change. Write them to the scratch, and return their number."""
    asked, initial, count = g.node[0, MOVES_AT], g.node[0, INITIAL_AT], 0
    keys, ds, columns, first = asked + KEYS, 2 * g.node[0, LEVELS], g.node[n, COLUMNS], g.node[n, LEAF]
    for leaf in range(first, first + g.node[n, LEAVES]):
        row_kind, row_map = g.node[leaf, ROW_KIND], g.node[leaf, ROW_MAP]
        column_kind, column_map = g.node[leaf, COLUMN_KIND], g.node[leaf, COLUMN_MAP]
        flavour, item, table = g.node[leaf, FLAVOUR], g.node[leaf, ITEM_AT], g.node[leaf, FACTOR]
        values, width = g.node[0, VALUES_AT] + g.node[leaf, VALUE], g.node[0, VALUES_WIDTH]
        for k in range(asked, asked + 3 * moves, 3):
            o, a, b = s.whole[k], s.whole[k + 1], s.whole[k + 2]
            v = g.number[values + o * width]
            if flavour == 0 and table < 0 and row_kind == ONE and g.lookup[row_map + a] == g.lookup[row_map + b]:
                by = g.lookup[row_map - 1]
                if g.number[by + a] == g.number[by + b]:
                    continue
            column = target_of(g, column_kind, column_map, o)
            if column < 0:
                continue
            if column_kind == ONE:
                v *= g.number[g.lookup[column_map - 1] + o]
            if v == 0.0:
                continue
            home = g.lookup[initial + o] if flavour > 0 else 0
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
                    kind = g.lookup[g.node[leaf, CLASS_AT] + o]
                    d *= g.number[table + kind * g.node[leaf, FACTOR_WIDTH] + spot]
                row = target_of(g, row_kind, row_map, container)
                if row < 0:
                    continue
                if row_kind == ONE:
                    d *= g.number[g.lookup[row_map - 1] + container]
                key, known = row * columns + column, 0
                while known < count and s.whole[keys + known] != key:
                    known += 1
                if known < count:
                    s.part[ds + known] += d
                else:
                    s.whole[keys + count], s.part[ds + count] = key, d
                    count += 1
    return count


@part
def settle_direct(g: Tables, s: State, first: int, last: int, moves: int, commit: bool) -> bool:
    """Apply the functions of the direct cells from first to last, and tell their readers.

    Return False if a hard element would grow; the caller must then forget the changes pushed to other cells.
    """
    levels, keys = g.node[0, LEVELS], g.node[0, MOVES_AT] + KEYS
    for n in range(first, last + 1):
        count = gather(g, s, n, moves)
        function, parameter, at = g.node[n, FUNCTION], g.real[n, PARAMETER], g.node[n, X_AT]
        hard, read, total = g.node[n, HARD] == 1 and not commit, g.node[n, READ] == 1, 0.0
        for t in range(count):
            key, d = s.whole[keys + t], s.part[2 * levels + t]
            x = s.part[at + 2 * key]
            if commit:
                s.part[at + 2 * key] = x + d
            dy = apply_function(function, parameter, x + d) - apply_function(function, parameter, x)
            if dy == 0.0:
                continue
            if hard and dy > g.real[n, TOLERANCE]:
                return False
            if read:
                emit(g, s, n, key // g.node[n, COLUMNS], key % g.node[n, COLUMNS], dy)
            total += dy
        if total != 0.0 and not read:
            for link in range(g.node[n, LINK], g.node[n + 1, LINK]):
                s.part[levels - 1 - g.node[link, TARGET]] += g.real[link, COEFFICIENT] * total
    return True
