"""Hold the graph in six flat arrays for the kernels. The constants below name offsets in them.

The arrays are few because each array costs a call of a compiled function seven arguments (docs/adr/0015).
"""

from __future__ import annotations

from typing import NamedTuple

from libs.assignment.kernels.sizes import LEAVES_MAX, MOVES_MAX
from libs.assignment.language.arrays import Floats, Ints

SCRATCH = 2 * MOVES_MAX * LEAVES_MAX
OVER, OVER_CHANGE, OVER_MAX, OVER_ROWS = SCRATCH, SCRATCH + 1, SCRATCH + 2, SCRATCH + 3
"""Offsets after the levels and their changes: the price of all excess over bent limits; its change; the largest allowed
price of a change, 0 for hard limits; and the number of exceeded limits.
"""
OVERS = 4
"""Number of the OVER values."""
RANDOM, KEYS = 3 * MOVES_MAX, 3 * MOVES_MAX + 1
"""Offsets after the moves: the state of the random numbers, and the keys of the scratch."""

SAME, ALL, ONE, MANY = 0, 1, 2, 3
"""Kinds of maps: to itself; all to 0; to one or none (-1); to any number."""

WIDTH = 23
"""Integers in a row of `node`."""

# Row 0 of `node`. Cells 1 to STACKED are in stacks. Those up to GUARDS read only the assignment, and are hard or read
# by other cells. Those up to DIRECT read only the assignment, and only levels read them. STACK is the first stack. The
# members of class k are lookup[MEMBERS + lookup[CLASS_FIRST + k]] and on. ALIKE_ arrays are those of
# similar_objects.py; the width is 0 if they are not requested. Movable objects are lookup[MOVABLE] and on, MOVABLES of
# them; all members of classes and of ALIKE_ are movable.
CELLS, LEVELS, OBJECTS, CONTAINERS, INITIAL_AT, VALUES_AT, VALUES_WIDTH, MOVES_AT = range(8)
STACKED, GUARDS, DIRECT, STACK, STACKS, CLASS_OF, CLASS_FIRST, MEMBERS = range(8, 16)
ALIKE_OF, ALIKE_NEAR, ALIKE_WIDTH, ALIKE_FIRST, ALIKE_MEMBERS = range(16, 21)
MOVABLE, MOVABLES = 21, 22
# Rows 1 to CELLS of `node`: cells. SLOTS is a power of two, 0 for dense cells; OVER as in pack.OVER; LEAF and LINK are
# the first rows of a cell's leaves and of the links that read it; READ tells whether another cell reads it.
FUNCTION, OVER, ROWS, COLUMNS, X_AT, SLOTS, SLOT_AT, DEFAULT_ROW_AT, DEFAULT_COLUMN_AT, TOP_AT = range(10)
WORK_AT, CHANGE_AT, HARD, LEAF, LEAVES, LINK, READ = range(10, 17)
# Rows of leaves. FACTOR is -1 or the offset of the factor's table, CLASS_AT of the classes, FACTOR_ITEM_AT of the
# items.
VALUE, FLAVOUR, ITEM_AT, FACTOR, CLASS_AT, FACTOR_ITEM_AT, FACTOR_WIDTH = range(7)
ROW_KIND, ROW_MAP, COLUMN_KIND, COLUMN_MAP = range(7, 11)
# Rows of links share the last four; TARGET is the reading cell, or -1 - level.
TARGET = 0
# Rows of stacks (stack.py); ITEM_AT, ROW_KIND and ROW_MAP are as in leaves.
LAYERS, LAYERS_NEW, STACK_VALUES, HELD, SUMS, TOUCHED = 0, 1, 3, 4, 5, 6
GUARD, GUARDED, LIMIT, EXCESS, CURVE, CURVES, WEIGHT, CURVE_OF_ROW, PRICE = range(9, 18)
# Columns of `real`: of cells; of links.
PARAMETER, TOLERANCE = range(2)
COEFFICIENT = 0


class Tables(NamedTuple):
    """The arrays that kernels only read.

    node    (1 + cells + leaves + links + 1 + stacks, WIDTH)  the rows named above, in that order; one to end the links
    real    (as many, 2)                                      numbers that belong to them
    lookup  maps, items, classes, initial containers, arrays of stacks
    number  factors of maps, defaults, factors, values of objects

    A map ONE: lookup[at + k] is the target of k, number[lookup[at - 1] + k] its factor. A map MANY: lookup[at - 1] is
    the offset of factors less that of targets, and entries lookup[at + k] to lookup[at + k + 1] are those of k.
    """

    node: Ints
    real: Floats
    lookup: Ints
    number: Floats


class State(NamedTuple):
    """The arrays that changes write.

    whole   assignment (N,); moves to evaluate, 3 x MOVES_MAX; state of the random numbers; scratch, SCRATCH; per
            cell its WORK: number of touched elements, number of used slots, touched elements; slot keys (-1: empty);
            per stack the number of touched rows, and the rows
    part    objective by level; its change by level; scratch, SCRATCH; OVERS; per cell its elements as pairs (x, dx),
            or slots (x); maxima; dx of touched elements; per stack the held amounts, their changes in touched rows,
            and the price of an excess over a bent limit
    """

    whole: Ints
    part: Floats
