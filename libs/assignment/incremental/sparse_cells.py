"""Store the elements of sparse cells in a hash table."""

from __future__ import annotations

from libs.assignment.incremental.borrow import borrow_state, borrow_tables
from libs.assignment.incremental.tables import (
    COLUMNS,
    DEFAULT_COLUMN_AT,
    DEFAULT_ROW_AT,
    SLOT_AT,
    SLOTS,
    WORK_AT,
    X_AT,
    State,
    Tables,
)
from libs.assignment.kernels.jit import callee, compiled, part
from libs.assignment.language.arrays import Floats, Ints

EMPTY = -1
NOTHING = 1e-9
"""Distance from the default within which an element needs no slot."""


@part
def find_slot(g: Tables, s: State, n: int, key: int) -> int:
    """Return the slot of a key in a sparse cell, or -1 - the slot for it."""
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
    """Return the value of an element without a slot."""
    columns = g.node[n, COLUMNS]
    of_row = g.number[g.node[n, DEFAULT_ROW_AT] + key // columns]
    return float(of_row + g.number[g.node[n, DEFAULT_COLUMN_AT] + key % columns])


@callee
def drop_defaults(g: Tables, s: State, n: int) -> None:
    """Free the slots of elements that equal their default."""
    g, s = borrow_tables(g), borrow_state(s)
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


@compiled
def fill_slots(g: Tables, s: State, n: int, keys: Ints, xs: Floats) -> None:
    """Store elements of a sparse cell in slots."""
    for k in range(len(keys)):
        slot = -1 - find_slot(g, s, n, keys[k])
        s.whole[g.node[n, SLOT_AT] + slot], s.part[g.node[n, X_AT] + slot] = keys[k], xs[k]
