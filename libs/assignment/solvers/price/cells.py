"""Read a market from the cells of a problem: room, groups, forbidden containers, and the worth of objects by container.

A cell is a function of a linear combination, as defined in graph/cell.py. A leaf is a term of that combination that
reads the assignment directly. A scope divides containers into items.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from libs.assignment.graph.bounds import least_leaf, least_total
from libs.assignment.graph.cell import IDENTITY, POSITIVE_PART, Cell, Leaf, fan
from libs.assignment.graph.compiled import Compiled
from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.dimension import ByItem
from libs.assignment.language.errors import ModelError
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.matrices import Matrix, csr
from libs.assignment.language.partition import Partition

TINY = 1e-9
"""Relative rounding error of sums of floats."""
LIMITS_MAX = 16
"""Most different limits on sums over several containers. Further limits are left out of the market."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Room:
    """A limit on sums in single containers.

    name   the name of the dimension, or of the spec if no dimension has these values
    need   (N,) the amount that each object adds to the sum in its container
    limit  (C,) the most that the sum may be in each container; inf: no limit
    """

    name: str
    need: Floats
    limit: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Crowd:
    """A limit on the amount of each of G groups in each scope item.

    name       the name of the spec
    members    (G, N) the amount of each object in each group
    limit      (G,) the most that an item may hold of each group
    item       (C,) the item of each container; -1: no limit there
    partition  the partition of the problem that has these groups; None if there is none
    """

    name: str
    members: Matrix
    limit: Floats
    item: Ints
    partition: Partition | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ban:
    """A set of objects that may not be in a set of containers.

    who     (N,) bool      whether the ban concerns the object
    where   (C,) bool      whether the ban concerns the container
    factor  ByItem | None  a factor by object and container: the ban holds only where the factor is above 0;
                           None: the ban holds for all objects of `who` in all containers of `where`
    new     bool           whether objects may stay that are in a container of `where` at the start
    """

    who: Bools
    where: Bools
    factor: ByItem | None
    new: bool

    def of(self, objects: Ints, containers: Ints) -> Bools:
        """Return whether object objects[i] is banned from container containers[i], for each i, (n,)."""
        found = self.who[objects] & self.where[containers]
        return found if self.factor is None else found & (self.factor.of(objects, containers) > 0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Worth:
    """A part of the objective: the gain value[o] * scale[c] * factor(o, c) of object o in container c.

    name    the name of the spec
    value   (N,) a number for each object
    scale   (C,) a number for each container
    factor  a number for each pair of object and container; None: 1 for all pairs
    """

    name: str
    value: Floats
    scale: Floats
    factor: ByItem | None

    def of(self, objects: Ints, containers: Ints) -> Floats:
        """Return the gain of object objects[i] in container containers[i], for each i, (n,)."""
        found = self.value[objects] * self.scale[containers]
        return found if self.factor is None else found * self.factor.of(objects, containers)

    @property
    def most(self) -> float:
        """Return an upper bound of the total gain of all objects, for every assignment."""
        table = 1.0 if self.factor is None else float(np.abs(self.factor.table).max(initial=0.0))
        return float(np.abs(self.value).sum() * np.abs(self.scale).max(initial=0.0) * table)

    @property
    def places(self) -> bool:
        """Return whether this worth rewards placement, in the same containers for objects of any class.

        That holds if there is no factor, no scale is negative, some scale is positive, and some value is positive.
        """
        uneven = bool((self.scale >= 0).all() and self.scale.min(initial=0.0) < self.scale.max(initial=0.0))
        return self.factor is None and uneven and bool((self.value > 0).any() or not len(self.value))


@dataclass(slots=True, kw_only=True, eq=False)
class Read:
    """The contents of the cells, as a market needs them.

    level     the number of the level whose worth is priced: the first level that rewards placement
    worth     the gains of the level
    rest      a lower bound of the remaining terms of the level
    rooms, crowds, bans  the hard constraints
    fixed     (N,) whether a hard constraint keeps the object in its container
    tied      (N,) whether a hard constraint forbids the object to leave its scope item
    left_out  the names of specs that were not read fully
    """

    level: int
    worth: list[Worth]
    rest: float
    rooms: list[Room] = field(default_factory=list)
    crowds: list[Crowd] = field(default_factory=list)
    bans: list[Ban] = field(default_factory=list)
    fixed: Bools
    tied: Bools
    left_out: set[str] = field(default_factory=set)


def read(compiled: Compiled) -> Read:
    """Read the worth of the first level that rewards placement, and every hard constraint that a market can express."""
    found = _worth(compiled)
    hard = [(n, cell) for n, cell in enumerate(compiled.graph.cells) if cell.hard and all(cell.shape)]
    for n, cell in hard:
        if not _read_limits(compiled, found, n, cell):
            found.left_out.add(compiled.names[n])
    found.left_out |= {term.name for term in compiled.terms if term.level == 0 and not term.hard}
    found.left_out |= {term.name for term in compiled.terms if term.level not in (0, found.level) and term.weight}
    return found


def _worth(compiled: Compiled) -> Read:
    for level in range(1, compiled.levels):
        worth: list[Worth] = []
        left_out: set[str] = set()
        rest = 0.0
        for total in compiled.totals:
            if total.level != level or total.weight == 0:
                continue
            cell, name = compiled.graph.cells[total.cell], compiled.names[total.cell]
            if cell.function != IDENTITY or cell.links or not cell.dense:
                left_out.add(name)
                rest += total.weight * least_total(compiled.graph, cell) if total.weight > 0 else -np.inf
                continue
            rest += total.weight * constant_of(cell).sum()
            for leaf in cell.leaves:
                of = leaf.values * (1.0 if leaf.columns is None else np.asarray(leaf.columns.sum(axis=0)).ravel())
                if leaf.flavour is Flavour.AFTER:
                    scale = np.asarray(leaf.rows.sum(axis=0), dtype=np.float64).ravel()
                    worth.append(Worth(name=name, value=-total.weight * of, scale=scale, factor=leaf.factor))
                else:
                    left_out.add(name)
                    rest += least_leaf(leaf, total.weight)
        if any(one.places for one in worth):
            none = np.zeros(compiled.graph.objects, dtype=bool)
            return Read(level=level, worth=worth, rest=rest, left_out=left_out, fixed=none, tied=none.copy())
    raise ModelError("the solver price needs a goal that rewards placed objects, such as MaximizeAllocationSpec")


def constant_of(cell: Cell) -> Floats:
    """Return the constant of a dense cell, (rows, columns)."""
    whole = cell.by_row[:, None] + cell.by_column[None, :]
    return whole if cell.grid is None else np.asarray(whole + cell.grid.toarray())


def _read_limits(compiled: Compiled, found: Read, number: int, cell: Cell) -> bool:
    """Add the limits of the hard cell `cell` to `found`. Return whether the cell was read fully.

    A cell is read only if no term of it is negative. Then each leaf by itself must be within the limit of the cell.
    """
    adds = all(
        (leaf.values >= 0).all()
        and (leaf.rows.data > 0).all()
        and fan(leaf.rows) <= 1
        and (leaf.columns is None or (leaf.columns.data >= 0).all())
        and (leaf.factor is None or (leaf.factor.table >= 0).all())
        for leaf in cell.leaves
    )
    if cell.function != POSITIVE_PART or cell.links or cell.over is not None or not adds:
        return False
    read_all = len(cell.leaves) <= 1
    for leaf in cell.leaves:
        if leaf.columns is None:
            read_all &= _read_sum(compiled, found, compiled.names[number], constant_of(cell)[:, 0], leaf)
        else:
            read_all &= _read_groups(compiled, found, compiled.names[number], cell, leaf, leaf.columns)
    return read_all


def _read_sum(compiled: Compiled, found: Read, name: str, constant: Floats, leaf: Leaf) -> bool:
    initial = compiled.problem.initial
    row, scale = _row_of(leaf)
    inside = row >= 0
    limit = np.where(inside, -constant[row] / scale, np.inf)
    shut = inside & (limit <= TINY)
    if leaf.flavour is Flavour.OLD:
        held = (leaf.values > 0) & shut[initial]
        if leaf.factor is not None:
            held &= leaf.factor.of(np.arange(len(initial)), initial) > 0
        home = leaf.scope.item[initial]
        alone = np.bincount(leaf.scope.item[leaf.scope.item >= 0], minlength=len(leaf.scope))[home] == 1
        found.fixed |= held & (home >= 0) & alone
        found.tied |= held
        return bool((~inside | shut).all() and not (held & ~alone).any())
    new = leaf.flavour is Flavour.NEW
    if new and shut.all() and leaf.factor is None and len(np.unique(leaf.scope.item)) == len(shut):
        found.fixed |= leaf.values > 0
        return True
    if new and not shut[inside].all():
        if ((leaf.values > 0) & inside[initial]).any():
            return False
        new = False
    if new or leaf.factor is not None:
        found.bans.append(Ban(who=leaf.values > 0, where=shut, factor=leaf.factor, new=new))
        return bool((~inside | shut).all())
    single = np.bincount(row[inside], minlength=len(constant))[row] == 1
    if (inside & single).any():
        alike = [one for one in compiled.problem.dimensions.values() if np.array_equal(one.objects, leaf.values)]
        alike.sort(key=lambda one: not one.capacities)
        used = {room.name for room in found.rooms}
        fresh = [one.name for one in alike if one.capacities and one.name not in used]
        known = [] if fresh else [room for room in found.rooms if np.array_equal(room.need, leaf.values)]
        names = fresh or [one.name for one in alike]
        limits = np.where(single, limit, np.inf)
        if known:
            found.rooms.remove(known[0])
            limits = np.minimum(limits, known[0].limit)
        found.rooms.append(Room(name=(names or [name])[0], need=leaf.values, limit=limits))
    several = np.unique(limit[inside & ~single])
    for one in several[:LIMITS_MAX]:
        members = csr(leaf.values[None, :])
        item = np.where(inside & ~single & (limit == one), row, -1)
        found.crowds.append(Crowd(name=name, members=members, limit=np.array([one]), item=item))
    return len(several) <= LIMITS_MAX


def _read_groups(compiled: Compiled, found: Read, name: str, cell: Cell, leaf: Leaf, columns: Matrix) -> bool:
    row, scale = _row_of(leaf)
    there = (leaf.values > 0) & (row[compiled.problem.initial] >= 0)
    plain = leaf.flavour is Flavour.AFTER or (leaf.flavour is Flavour.NEW and not there.any())
    if not plain or leaf.factor is not None or cell.grid is not None or np.ptp(cell.by_row):
        return False
    of_rows = scale[row >= 0] if (row >= 0).any() else np.ones(1)
    if np.ptp(of_rows):
        return False
    limit = -(cell.by_column + cell.by_row[0]) / of_rows.max(initial=1.0)
    members = csr(columns.multiply(leaf.values[None, :]))
    known = (one for one in compiled.problem.partitions.values() if one.matrix is columns)
    found.crowds.append(Crowd(name=name, members=members, limit=limit, item=row, partition=next(known, None)))
    return True


def _row_of(leaf: Leaf) -> tuple[Ints, Floats]:
    """Return the row that each container belongs to, and the container's factor in that row, (C,) each.

    The row of a container that belongs to no row is -1.
    """
    entries = leaf.rows.tocoo()
    row, scale = np.full(leaf.rows.shape[1], -1, dtype=np.int64), np.ones(leaf.rows.shape[1])
    row[entries.coords[1]], scale[entries.coords[1]] = entries.coords[0], entries.data
    return row, scale
