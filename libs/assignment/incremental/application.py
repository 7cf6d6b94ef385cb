"""Apply a cell's function to the changes pushed into it."""

from __future__ import annotations

from libs.assignment.incremental.borrow import borrow_state, borrow_tables
from libs.assignment.incremental.functions import apply_function
from libs.assignment.incremental.propagation import TINY, emit, forget
from libs.assignment.incremental.sparse_cells import default_x, drop_defaults, find_slot
from libs.assignment.incremental.tables import (
    CHANGE_AT,
    COLUMNS,
    FUNCTION,
    HARD,
    PARAMETER,
    SLOT_AT,
    SLOTS,
    TOLERANCE,
    WORK_AT,
    X_AT,
    State,
    Tables,
)
from libs.assignment.kernels.jit import callee


@callee
def settle(g: Tables, s: State, n: int, commit: bool) -> bool:
    """Apply a cell's function to the pushed changes, and tell its readers. Return False if a hard element would
    grow.
    """
    g, s = borrow_tables(g), borrow_state(s)
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
