"""Make the count columns: the number of objects of a class in a container, for each allowed pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.graph.cell import IDENTITY, POSITIVE_PART, STEP, Cell, Leaf
from libs.assignment.graph.compiled import Compiled
from libs.assignment.graph.full_evaluation import CellValue
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.errors import NotLowerable
from libs.assignment.language.expressions.step import STEP_TOLERANCE
from libs.assignment.language.flavour import Flavour
from libs.assignment.model.directions import leaf_signs
from libs.assignment.model.entries import outer_entries
from libs.assignment.model.movement import Movement

PAIRS_MAX = 10_000_000
"""Pairs of class and container that may be examined."""
SLACK = 1e-12
"""Relative tolerance of a limit, for rounding in sums of floats."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counts:
    """Columns 0..Q-1 of the model, by class and then by container.

    kind, container  (Q,)
    held             (Q,) objects of the class in the container at the start
    most             (Q,) the largest number that each hard constraint alone allows
    """

    kind: Ints
    container: Ints
    held: Ints
    most: Ints


def count_columns(compiled: Compiled, moved: Movement) -> Counts:
    """Make a column for every pair of class and container that holds objects or that no single hard constraint
    forbids.
    """
    classes, containers = moved.classes, len(compiled.problem.containers)
    pairs = len(classes) * containers
    if pairs > PAIRS_MAX:
        raise NotLowerable(
            f"{len(classes)} classes of equivalent objects and {containers} containers make {pairs} counts; "
            f"at most {PAIRS_MAX} are possible. Use the solver local or partitioned"
        )
    kind, container = np.repeat(np.arange(len(classes)), containers), np.tile(np.arange(containers), len(classes))
    held = np.bincount(classes.of * containers + compiled.problem.initial, minlength=pairs)
    most = classes.size[kind]
    for cell, leaves, value in zip(compiled.graph.cells, moved.leaves, compiled.start, strict=True):
        if _rules_out(cell, leaves):
            for leaf in leaves:
                if leaf.flavour is not Flavour.OLD:
                    _tighten(compiled, moved, cell, value, leaf, kind, container, held, most)
                    left = np.flatnonzero((most > 0) | (held > 0))
                    kind, container, held, most = kind[left], container[left], held[left], most[left]
    return Counts(kind=kind, container=container, held=held, most=np.maximum(most, held))


def _rules_out(cell: Cell, leaves: tuple[Leaf, ...]) -> bool:
    """Return whether a cell is a hard limit on sums without negative terms. Then each term alone must keep the
    limit.
    """
    plain = cell.hard and not cell.links and cell.over is None and cell.function in (IDENTITY, POSITIVE_PART, STEP)
    return plain and bool(leaves) and not any(leaf_signs(leaf)[1] for leaf in leaves)


def _tighten(
    compiled: Compiled,
    moved: Movement,
    cell: Cell,
    value: CellValue,
    leaf: Leaf,
    kind: Ints,
    container: Ints,
    held: Ints,
    most: Ints,
) -> None:
    """Lower `most` to the room that a pair's elements leave."""
    who = moved.classes.representative[kind]
    each = leaf.values[who]
    if leaf.factor is not None:
        each = each * leaf.factor.of(who, container)
    asked = np.flatnonzero(each)
    if leaf.flavour is Flavour.NEW and not moved.split:
        asked = asked[moved.home[container[asked]] >= 0]
    if leaf.flavour is Flavour.NEW and moved.split:
        began = compiled.problem.initial[who[asked]]
        asked = asked[leaf.scope.item[began] != leaf.scope.item[container[asked]]]
    column = np.zeros(len(asked), np.int64) if leaf.columns is None else who[asked]
    key, source, by = outer_entries(leaf.rows, container[asked], leaf.columns, column, cell.shape[1])
    room = _room(cell, value, key)
    stays = np.zeros(len(source), dtype=np.int64)
    if leaf.flavour is Flavour.NEW and not moved.split:
        stays = _held_at_home(moved, compiled.problem.initial)[
            kind[asked[source]], moved.home[container[asked[source]]]
        ]
    takes = by * each[asked[source]]
    some = takes > 0
    fits = np.floor(room[some] / takes[some] + SLACK * np.maximum(1.0, room[some] / takes[some])) + stays[some]
    objects = len(moved.classes.of)
    np.minimum.at(most, asked[source[some]], np.clip(fits, 0, objects).astype(np.int64))


def _held_at_home(moved: Movement, initial: Ints) -> Ints:
    """Return the number of objects of each class that began in each home, (K, C)."""
    homes = moved.home[initial]
    inside = np.flatnonzero(homes >= 0)
    found = np.zeros((len(moved.classes), len(moved.home)), dtype=np.int64)
    np.add.at(found, (moved.classes.of[inside], homes[inside]), 1)
    return found


def _room(cell: Cell, value: CellValue, key: Ints) -> Floats:
    """Return the room under each element's limit if all terms that depend on the assignment are 0."""
    rows, columns = key // cell.shape[1], key % cell.shape[1]
    empty = cell.by_row[rows] + cell.by_column[columns]
    if cell.grid is not None:
        empty = empty + np.asarray(cell.grid[rows, columns]).ravel()
    limit = start_of(cell, value, key)
    if cell.function == STEP:  # an item that holds something may hold more: the step counts it once in any case
        limit = np.where(limit > STEP_TOLERANCE, np.inf, STEP_TOLERANCE)
    elif cell.function != IDENTITY:
        limit = np.maximum(limit, 0.0)
    return np.asarray(limit - empty, dtype=np.float64)


def start_of(cell: Cell, value: CellValue, key: Ints) -> Floats:
    """Return the arguments of a cell's elements at the start."""
    if cell.dense:
        return np.asarray(value.x.ravel()[key])
    order = np.argsort(value.keys)
    keys, x = value.keys[order], value.x[order]
    at = np.searchsorted(keys, key)
    at = np.minimum(at, max(len(keys) - 1, 0))
    known = keys[at] == key if len(keys) else np.zeros(len(key), np.bool_)
    empty = cell.by_row[key // cell.shape[1]] + cell.by_column[key % cell.shape[1]]
    return np.where(known, x[at], empty) if len(keys) else empty
