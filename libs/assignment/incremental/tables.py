"""The graph as six flat arrays for the kernels: what the constants below name is where things are in them.

Few arrays, because every array that a compiled function is handed costs it seven arguments (docs/adr/0015).
"""

from __future__ import annotations

from typing import NamedTuple

from libs.assignment.kernels.sizes import LEAVES_MAX, MOVES_MAX
from libs.assignment.language.arrays import Floats, Ints

SCRATCH = 2 * MOVES_MAX * LEAVES_MAX
OVER, OVER_CHANGE, OVER_MAX, OVER_ROWS = SCRATCH, SCRATCH + 1, SCRATCH + 2, SCRATCH + 3
"""Where, after the levels and their changes: what all that is over bent limits costs; its change; the most that a
change may cost, 0 where limits are hard; and how many limits are exceeded.
"""
OVERS = 4
"""Numbers of that kind."""
RANDOM, KEYS = 3 * MOVES_MAX, 3 * MOVES_MAX + 1
"""Where, after the moves asked about, the state of the random numbers is, and the keys of the scratch."""

SAME, ALL, ONE, MANY = 0, 1, 2, 3
"""Kinds of maps: to itself; all to 0; to one or none (-1); to any number."""

WIDTH = 23
"""Integers that a row of `node` has room for."""

# Row 0 of `node`. Cells 1 to STACKED are in stacks; those up to GUARDS read only the assignment and are hard or read
# by other cells; those up to DIRECT read only the assignment and only levels read them. STACK is the first stack. The
# members of class k are lookup[MEMBERS + lookup[CLASS_FIRST + k]] and on. ALIKE_ arrays are those of
# similar_objects.py; the width is 0 where they are not asked for. Objects that may move are lookup[MOVABLE] and on,
# MOVABLES of them; the members of classes and of ALIKE_ are such.
CELLS, LEVELS, OBJECTS, CONTAINERS, INITIAL_AT, VALUES_AT, VALUES_WIDTH, MOVES_AT = range(8)
STACKED, GUARDS, DIRECT, STACK, STACKS, CLASS_OF, CLASS_FIRST, MEMBERS = range(8, 16)
ALIKE_OF, ALIKE_NEAR, ALIKE_WIDTH, ALIKE_FIRST, ALIKE_MEMBERS = range(16, 21)
MOVABLE, MOVABLES = 21, 22
# Rows 1 to CELLS of `node`: cells. SLOTS is a power of two, 0 for dense cells; OVER as in pack.OVER; LEAF and LINK
# are the first rows of a cell's leaves and of the links that read it; READ says whether another cell does.
FUNCTION, OVER, ROWS, COLUMNS, X_AT, SLOTS, SLOT_AT, DEFAULT_ROW_AT, DEFAULT_COLUMN_AT, TOP_AT = range(10)
WORK_AT, CHANGE_AT, HARD, LEAF, LEAVES, LINK, READ = range(10, 17)
# Rows of leaves. FACTOR is -1 or the offset of the factor's table, CLASS_AT of the classes, FACTOR_ITEM_AT of the
# items.
VALUE, FLAVOUR, ITEM_AT, FACTOR, CLASS_AT, FACTOR_ITEM_AT, FACTOR_WIDTH = range(7)
ROW_KIND, ROW_MAP, COLUMN_KIND, COLUMN_MAP = range(7, 11)
# Rows of links share the last four; TARGET is the cell that reads, or -1 - level.
TARGET = 0
# Rows of stacks (stack.py); ITEM_AT, ROW_KIND and ROW_MAP are as in leaves.
LAYERS, LAYERS_NEW, STACK_VALUES, HELD, SUMS, TOUCHED = 0, 1, 3, 4, 5, 6
GUARD, GUARDED, LIMIT, EXCESS, CURVE, CURVES, WEIGHT, CURVE_OF_ROW, PRICE = range(9, 18)
# Columns of `real`: of cells; of links.
PARAMETER, TOLERANCE = range(2)
COEFFICIENT = 0


class Tables(NamedTuple):
    """Never written.

    node    (1 + cells + leaves + links + 1 + stacks, WIDTH)  the rows named above, in that order; one to end the links
    real    (as many, 2)                                      numbers that belong to them
    lookup  maps, items, classes, initial containers, what stacks are made of
    number  what maps multiply by, defaults, factors, values of objects

    A map ONE: lookup[at + k] is the target of k, number[lookup[at - 1] + k] its factor. A map MANY: lookup[at - 1] is
    the offset of factors less that of targets, and entries lookup[at + k] to lookup[at + k + 1] are those of k.
    """

    node: Ints
    real: Floats
    lookup: Ints
    number: Floats


class State(NamedTuple):
    """What changes write.

    whole   assignment (N,); moves asked about, 3 x MOVES_MAX; state of the random numbers; scratch, SCRATCH; per
            cell its WORK: touched elements, slots taken, the touched; slot keys (-1: empty); per stack how many rows
            are touched, and which
    part    objective by level; its change by level; scratch, SCRATCH; OVERS; per cell its elements as pairs (x, dx),
            or slots (x); maxima; touched dx; per stack what its rows hold, by how much the touched ones change, and
            what an element over a bent limit costs
    """

    whole: Ints
    part: Floats
