"""Check from the cells whether an assignment keeps every hard constraint, and repair it if not."""

from __future__ import annotations

import numpy as np

from libs.assignment.graph.cell import Cell
from libs.assignment.graph.compiled import Compiled
from libs.assignment.graph.full_evaluation import CellValue, compute
from libs.assignment.graph.lexicographic import compare
from libs.assignment.graph.reach import tolerance_of
from libs.assignment.language.arrays import Bools, Ints, checked_indices
from libs.assignment.language.matrices import csr

ATTEMPTS = 8
"""Rounds of sending objects home, before the start is the answer."""
TWICE = 2.0
"""Factor on a search's tolerance: once for the search, once for the evaluation here."""
SAME = 1e-9
"""Relative tolerance, for rounding in sums of floats."""


def made_legal(compiled: Compiled, assignment: Ints) -> Ints:
    """Send home the objects that make an element of a hard cell larger than at the start; at last all of them."""
    initial, found = np.asarray(compiled.problem.initial), assignment.copy()
    for _ in range(ATTEMPTS):
        guilty = guilty_of(compiled, found)
        if not guilty.any():
            return found
        found[guilty] = initial[guilty]
    return initial.copy()


def begun_at(compiled: Compiled, start: Ints | None) -> Ints:
    """Return a caller's start (N,) if it is no worse than the initial assignment, else (or for None) the initial one.

    Objects that make a hard constraint worse in `start` go home first. Raises: BadValues if it does not give a
    container for each object.
    """
    problem, initial = compiled.problem, np.asarray(compiled.problem.initial)
    if start is None:
        return initial
    found = made_legal(compiled, checked_indices("start", start, len(problem.objects), len(problem.containers)))
    first = np.array(compiled.values(initial))
    worse = compare(np.array(compiled.values(found)), first, SAME * np.maximum(np.abs(first), 1.0)) > 0
    return initial if worse else found


def guilty_of(compiled: Compiled, assignment: Ints) -> Bools:
    """Return the moved objects that count in a grown element of a hard cell, (N,)."""
    initial = np.asarray(compiled.problem.initial)
    guilty = np.zeros(len(initial), dtype=bool)
    moved = assignment != initial
    now = compute(compiled.graph, initial, assignment)
    cells = zip(compiled.graph.cells, compiled.reaches, compiled.start, now, strict=True)
    for cell, reach, before, after in cells:
        if cell.hard:
            rows, columns = _grown(cell, TWICE * tolerance_of(cell, reach), before, after)
            if len(rows):
                guilty |= moved & _who(cell, rows, columns, initial, assignment)
    return guilty


def _grown(cell: Cell, slack: float, before: CellValue, after: CellValue) -> tuple[Ints, Ints]:
    if cell.dense:
        rows, columns = np.nonzero(np.asarray(after.y - before.y) > slack)
        return rows, columns
    more = csr(after.y - before.y).tocoo()
    return more.coords[0][more.data > slack], more.coords[1][more.data > slack]


def _who(cell: Cell, rows: Ints, columns: Ints, initial: Ints, assignment: Ints) -> Bools:
    """Return the objects that count in these elements, now or at the start, (N,); all of them if other cells count
    there.
    """
    if cell.links or cell.over is not None:
        return np.ones(len(initial), dtype=bool)
    found = np.zeros(len(initial), dtype=bool)
    for leaf in cell.leaves:
        near = np.asarray(abs(leaf.rows[np.unique(rows)]).sum(axis=0)).ravel() > 0
        counts = near[assignment] | near[initial]
        if leaf.columns is not None:
            counts &= np.asarray(abs(leaf.columns[np.unique(columns)]).sum(axis=0)).ravel() > 0
        found |= counts
    return found
