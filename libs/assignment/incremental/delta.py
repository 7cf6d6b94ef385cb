"""Compute the effect of a change on the objective, in compiled code that touches only changed elements."""

from __future__ import annotations

from libs.assignment.incremental.application import settle
from libs.assignment.incremental.borrow import borrow_state, borrow_tables
from libs.assignment.incremental.direct_cells import settle_direct
from libs.assignment.incremental.maxima import settle_max
from libs.assignment.incremental.propagation import forget, push_move
from libs.assignment.incremental.stack import check_stacks, settle_stacks
from libs.assignment.incremental.tables import (
    CELLS,
    DIRECT,
    FUNCTION,
    GUARDS,
    LEAF,
    LEAVES,
    LEVELS,
    MOVES_AT,
    OVER,
    OVER_CHANGE,
    STACKED,
    WORK_AT,
    State,
    Tables,
)
from libs.assignment.kernels.jit import callee, compiled, part
from libs.assignment.language.arrays import Ints


@part
def settle_others(g: Tables, s: State, moves: int, commit: bool) -> bool:
    """Settle all remaining cells: those that read others, keep lists of touched elements, or take maxima.

    A cell comes after those that it reads. Return False if a hard element would grow.
    """
    asked, cells = g.node[0, MOVES_AT], g.node[0, CELLS]
    for n in range(g.node[0, DIRECT] + 1, cells + 1):
        first = g.node[n, LEAF]
        for leaf in range(first, first + g.node[n, LEAVES]):
            for k in range(asked, asked + 3 * moves, 3):
                push_move(g, s, n, leaf, s.whole[k], s.whole[k + 1], s.whole[k + 2])
        if s.whole[g.node[n, WORK_AT]] == 0:
            continue
        if g.node[n, FUNCTION] == 6:
            settle_max(g, s, n, commit)
        elif not settle(g, s, n, commit):
            return False
    return True


@part
def change(g: Tables, s: State, moves: int, commit: bool) -> bool:
    """Compute the change of each level by all moves that `ask` has put, made at once.

    Write the result to `part`, from LEVELS on. Return False, and change nothing, if a hard constraint would break or
    get worse. With `commit` make the moves without a check of the constraints. Cells that are cheap and often forbid a
    change come first. Cells that only add up come last.
    """
    levels, asked = g.node[0, LEVELS], g.node[0, MOVES_AT]
    for level in range(levels):
        s.part[levels + level] = 0.0
    s.part[2 * levels + OVER_CHANGE] = 0.0
    if not check_stacks(g, s, moves, commit):
        return False
    for last in (False, True):
        first, until = (GUARDS, DIRECT) if last else (STACKED, GUARDS)
        fits = settle_direct(g, s, g.node[0, first] + 1, g.node[0, until], moves, commit)
        if not last and not (fits and settle_others(g, s, moves, commit)):
            for n in range(g.node[0, DIRECT] + 1, g.node[0, CELLS] + 1):
                forget(g, s, n, 0, s.whole[g.node[n, WORK_AT]])
            return False
    settle_stacks(g, s, commit)
    if commit:
        for k in range(asked, asked + 3 * moves, 3):
            s.whole[s.whole[k]] = s.whole[k + 2]
        for level in range(levels):
            s.part[level] += s.part[levels + level]
        s.part[2 * levels + OVER] += s.part[2 * levels + OVER_CHANGE]
    return True


@callee
def evaluate(g: Tables, s: State, moves: int) -> bool:
    """Evaluate the moves without making them."""
    return change(borrow_tables(g), borrow_state(s), moves, False)


@callee
def evaluate_single(g: Tables, s: State) -> bool:
    """Evaluate one move. The separate compilation makes it twice as fast as `evaluate`."""
    return change(borrow_tables(g), borrow_state(s), 1, False)


@callee
def make(g: Tables, s: State, moves: int) -> None:
    """Make the moves."""
    change(borrow_tables(g), borrow_state(s), moves, True)


@part
def ask(g: Tables, s: State, k: int, o: int, b: int) -> None:
    """Put the move of object o to container b at place k of the change to evaluate."""
    at = g.node[0, MOVES_AT] + 3 * k
    s.whole[at], s.whole[at + 1], s.whole[at + 2] = o, s.whole[o], b


@compiled
def try_moves(g: Tables, s: State, objects: Ints, containers: Ints, commit: bool) -> bool:
    """Evaluate or commit moves of objects to containers, at most MOVES_MAX."""
    for k in range(len(objects)):
        ask(g, s, k, objects[k], containers[k])
    allowed = commit or evaluate(g, s, len(objects))
    if commit:
        make(g, s, len(objects))
    return allowed
