"""Turn a problem into a mixed-integer program over counts.

A count is the number of objects of one class in one container. Objects of a class are equivalent.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np

from libs.assignment.graph.cell import CEIL, IDENTITY, LOG, MAX, POSITIVE_PART, POWER, STEP, Cell, fan
from libs.assignment.graph.compiled import Compiled
from libs.assignment.graph.full_evaluation import compute, empty_part
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.errors import TimeUp
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem import Problem
from libs.assignment.model.affine import Affine, Image
from libs.assignment.model.assembly import Assembly, entries_of
from libs.assignment.model.ceil import add_ceil
from libs.assignment.model.cell_argument import Arguments
from libs.assignment.model.conditional_limits import add_links
from libs.assignment.model.counts import count_columns, start_of
from libs.assignment.model.directions import Want, wants
from libs.assignment.model.leaving_counts import add_leaving
from libs.assignment.model.log import add_log
from libs.assignment.model.lowered import Level, Lowered
from libs.assignment.model.maximum import add_maximum
from libs.assignment.model.movement import Movement, movement
from libs.assignment.model.positive_part import add_positive_part
from libs.assignment.model.power import add_power
from libs.assignment.model.shared_sums import add_sums
from libs.assignment.model.step import add_step
from libs.mip.rounding_cuts import with_rounding_cuts

UNCUT_COUNTS = range(5_001, 40_001)
"""Numbers of counts with which no single rows are rounded: relaxed as a whole, such a problem takes twice as long with
these rows. A larger one is relaxed container by container, and takes no longer.
"""
CUT_UNITS_MAX = 1.0
"""Rounded are rows with a side of less than one object: they gain most."""


def lower(problem: Problem) -> Lowered:
    """Return the mixed-integer program of `problem`.

    Raises: NotLowerable, with the name of the spec that has no such form.
    """
    return lower_compiled(Compiled.of(problem))


def lower_compiled(
    compiled: Compiled, *, near: Sequence[Ints] = (), named: bool = False, until: float = math.inf
) -> Lowered:
    """Return the mixed-integer program of a compiled problem.

    near   assignments (N,) at which curves without binary columns must be exact
    named  whether every element of a spec gets its own rows with the name of the spec, as in Assembly
    until  the time at which to give up, as time.perf_counter() counts

    Raises: TimeUp at the time `until`; NotLowerable, with the name of a spec that has no such form.
    """
    problem, cells = compiled.problem, compiled.graph.cells
    wanted = wants(compiled)
    moved = movement(compiled, wanted)
    _require_time(until)
    counts = count_columns(compiled, moved)
    a = Assembly(counts, moved.classes.size, named=named)
    leaving = add_leaving(a, moved, linear=_linear(compiled, moved))
    arguments = Arguments(a, moved, leaving.column, problem.initial, cells)
    seen = [compute(compiled.graph, problem.initial, assignment) for assignment in near]
    values: list[Affine] = []
    for number, cell in enumerate(cells):
        _require_time(until)
        x = arguments.of(number, values)
        at = np.array([start_of(cell, each[number], x.keys) for each in seen]).reshape(len(seen), len(x.keys))
        values.append(_value(a, compiled, number, x, wanted[number], at))
    _require_time(until)
    add_links(a)
    levels = _levels(a, compiled, values)
    model = a.mip.build()
    weight = np.asarray(abs(model.matrix[:, leaving.column]).sum(axis=0), dtype=np.float64).ravel()
    leaving.sort(*(level.cost[leaving.column] for level in levels), weight)
    if not named:  # a row without a name could not be told as the cause
        units_max = 0.0 if len(counts.kind) in UNCUT_COUNTS else CUT_UNITS_MAX
        model = with_rounding_cuts(model, units_max=units_max)
    return Lowered(
        problem=problem,
        compiled=compiled,
        classes=moved.classes,
        movement=moved,
        kind=counts.kind,
        container=counts.container,
        held=counts.held,
        model=model,
        levels=levels,
        blocks=tuple(a.blocks),
        leaving=leaving,
        completions=tuple(a.completions),
        sound=a.sound,
    )


def _require_time(until: float) -> None:
    if time.perf_counter() > until:
        raise TimeUp


def _linear(compiled: Compiled, moved: Movement) -> bool:
    """Return whether every cell that counts moved objects is linear, is not hard, and is read by no other cell."""
    read = {link.source for cell in compiled.graph.cells for link in cell.links}
    return all(
        cell.function == IDENTITY and not cell.hard and n not in read
        for n, (cell, leaves) in enumerate(zip(compiled.graph.cells, moved.leaves, strict=True))
        if any(leaf.flavour is not Flavour.AFTER for leaf in leaves)
    )


def _value(a: Assembly, compiled: Compiled, number: int, x: Affine, want: Want, near: Floats) -> Affine:
    """Add the cell `number` to the model, and return its value: the cell's function of the argument `x`.

    near  the argument at the assignments at which curves must be exact
    """
    cell, name = compiled.graph.cells[number], compiled.names[number]
    if cell.function == MAX:
        image = add_maximum(a, name, cell, x, want)
        outs = cell.out_shape[0] * cell.out_shape[1]
        matrix, constant = image.of(x, a.width)
        value = Affine(
            shape=cell.out_shape,
            keys=np.arange(outs),
            matrix=matrix,
            constant=constant,
            error=image.error,
            rest=np.zeros(outs),
        )
        most: Floats | None = compiled.start[number].y.ravel() if cell.hard else None
    else:
        most = None
        if cell.hard:
            before = start_of(cell, compiled.start[number], x.keys)
            most = before if cell.apply is None else cell.apply(before, cell.parameter)
        image = _image(a, compiled, number, x, want, most, near)
        matrix, constant = image.of(x, a.width)
        rest = x.rest if x.rest is None or cell.apply is None else cell.apply(x.rest, cell.parameter)
        value = Affine(shape=x.shape, keys=x.keys, matrix=matrix, constant=constant, error=image.error, rest=rest)
    if most is not None and cell.function not in (POSITIVE_PART, STEP):
        all_of = np.arange(len(value.keys))
        a.add_rows(name, "no worse", value.keys, value.shape[1], entries_of(matrix, all_of), upper=most - constant)
    return value


def _image(
    a: Assembly, compiled: Compiled, number: int, x: Affine, want: Want, most: Floats | None, near: Floats
) -> Image:
    cell, name = compiled.graph.cells[number], compiled.names[number]
    if cell.function == POSITIVE_PART:
        return add_positive_part(a, name, x, want, most)
    if cell.function == STEP:
        return add_step(a, name, x, want, most)
    if cell.function == CEIL:
        return add_ceil(a, name, x, want)
    if cell.function == LOG:
        return add_log(a, name, x, want, near)
    if cell.function == POWER:
        return add_power(a, name, x, want, cell.parameter, near)
    return add_sums(a, name, x, shared=_shared(compiled.graph.cells, number))


def _shared(cells: list[Cell], number: int) -> bool:
    links = [link for cell in cells for link in cell.links if link.source == number]
    return len(links) > 1 or any(fan(link.rows) > 1 or fan(link.columns) > 1 for link in links)


def _levels(a: Assembly, compiled: Compiled, values: list[Affine]) -> tuple[Level, ...]:
    cost = np.zeros((compiled.levels, a.width))
    offset, error = np.zeros(compiled.levels), np.zeros(compiled.levels)
    for number, level, weight in compiled.totals:
        value, cell = values[number], compiled.graph.cells[number]
        cost[level, : value.matrix.shape[1]] += weight * np.asarray(value.matrix.sum(axis=0)).ravel()
        error[level] += abs(weight) * value.error.sum()
        if value.rest is not None:
            others = value.rest.sum() - value.rest[value.keys].sum()
        else:
            rows, columns = cell.shape
            empty = empty_part(cell, np.ones((1, rows)), np.ones((1, columns)))[0, 0]
            by_row, by_column = cell.by_row[value.keys // columns], cell.by_column[value.keys % columns]
            base = by_row + by_column
            others = empty - (base if cell.apply is None else cell.apply(base, cell.parameter)).sum()
        offset[level] += weight * (value.constant.sum() + others)
    return tuple(Level(cost=cost[k], offset=float(offset[k]), error=float(error[k])) for k in range(compiled.levels))
