"""Join the answers of the parts to one answer, which is never worse than the start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from libs.assignment.graph.full_evaluation import CellValue, compute, written_out
from libs.assignment.incremental.delta import try_moves
from libs.assignment.incremental.program import Program
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.solvers.partitioned.part import Part

ENOUGH = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coalesced:
    """The joined answer of all parts.

    assignment  (N,) the container of each object of the whole problem
    whole       number of parts whose answer was taken as a whole
    piecemeal   number of parts whose answer was taken move by move
    refused     number of parts whose answer was not taken
    """

    assignment: Ints
    whole: int
    piecemeal: int
    refused: int


def coalesce(
    program: Program, parts: list[Part], answers: list[Ints], late: Callable[[], bool] = lambda: False
) -> Coalesced:
    """Join the answers of the parts to one assignment of the whole problem, which is never worse than the start.

    Take all answers at once if the result is legal and no worse than the start. Otherwise take one part after the
    other. If the answer of a part makes the result illegal or worse, take its moves one by one.

    answers  for each part (n,) the container of each of its objects, as numbered in the part
    late     returns whether the time is up; the answers of the remaining parts are then refused
    """
    start = program.problem.initial.copy()
    moves = [_moves(start, part, answer) for part, answer in zip(parts, answers, strict=True)]
    every = _after(start, moves)
    judge = _Judge(program, start)
    if judge.takes(every):
        return Coalesced(assignment=every, whole=len(parts), piecemeal=0, refused=0)
    whole = piecemeal = refused = 0
    for one in moves:
        if late():
            refused += 1
        elif judge.takes(_after(judge.now, [one])):
            whole += 1
        elif judge.takes(_one_by_one(program, judge.now, one, late)):
            piecemeal += 1
        else:
            refused += 1
    return Coalesced(assignment=judge.now, whole=whole, piecemeal=piecemeal, refused=refused)


Moves = tuple[Ints, Ints]
"""The objects that move, and the container that each of them goes to."""


class _Judge:
    """A judge of assignments. It accepts an assignment that is legal and no worse than the last accepted assignment."""

    def __init__(self, program: Program, start: Ints) -> None:
        self.program, self.now = program, start
        self.values = compute(program.graph, program.problem.initial, start)
        self.levels = program.state(start).part[: program.levels].copy()

    def takes(self, assignment: Ints) -> bool:
        levels = self.program.state(assignment).part[: self.program.levels].copy()
        values = compute(self.program.graph, self.program.problem.initial, assignment)
        if _worse(levels, self.levels) or self._breaks(values):
            return False
        self.now, self.levels, self.values = assignment, levels, values
        return True

    def _breaks(self, values: list[CellValue]) -> bool:
        """Return whether an element of a hard constraint is larger in `values` than in the last accepted assignment."""
        for cell, before, after in zip(self.program.graph.cells, self.values, values, strict=True):
            if cell.hard:
                grown = after.y - before.y
                most = written_out(grown).max(initial=0.0) if cell.dense else (grown.data.max() if grown.nnz else 0.0)
                if most > ENOUGH * max(1.0, float(np.abs(cell.by_row).max(initial=0.0))):
                    return True
        return False


def _worse(levels: Floats, than: Floats) -> bool:
    """Return whether `levels` are worse than `than`: larger at the first level at which they differ."""
    for now, before in zip(levels, than, strict=True):
        if abs(now - before) > ENOUGH * max(1.0, abs(before)):
            return bool(now > before)
    return False


def _moves(start: Ints, part: Part, answer: Ints) -> Moves:
    to = part.containers[answer]
    moved = to != start[part.objects]
    return part.objects[moved], to[moved]


def _after(start: Ints, moves: list[Moves]) -> Ints:
    assignment = start.copy()
    for objects, to in moves:
        assignment[objects] = to
    return assignment


def _one_by_one(program: Program, start: Ints, moves: Moves, late: Callable[[], bool]) -> Ints:
    """Make the moves `moves` one after the other from `start`, while `late` returns False. Return the assignment.

    Leave out each move that is illegal or makes the assignment worse.
    """
    state, levels = program.state(start), program.levels
    for o, to in zip(*moves, strict=True):
        if late():
            break
        who, where = np.array([o]), np.array([to])
        if not try_moves(program.tables, state, who, where, False):
            continue
        change = state.part[levels : 2 * levels]
        if not _worse(state.part[:levels] + change, state.part[:levels]):
            try_moves(program.tables, state, who, where, True)
    return state.whole[: len(start)].copy()
