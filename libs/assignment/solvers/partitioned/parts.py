"""Cut a problem into parts. Each part has some of the objects and containers; a split container is in every part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from libs.assignment.incremental.program import Program
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.errors import ModelError
from libs.assignment.language.problem import Problem
from libs.assignment.language.problem_names import CONTAINER
from libs.assignment.solvers.deal import Deal
from libs.assignment.solvers.local.hot_spots import container_heat
from libs.assignment.solvers.partitioned.dealing import deal
from libs.assignment.solvers.partitioned.part import Part, parts_of
from libs.assignment.solvers.partitioned.shared_containers import large_containers, pools, used_or_not


def plan_parts(
    program: Program,
    parts: int,
    *,
    how: Deal,
    seed: int,
    split: Sequence[str | int] | None = None,
    together: str | None = None,
) -> tuple[Part, ...]:
    """Return `parts` parts of about the same load.

    how        the way to distribute containers and objects to parts
    split      the containers that are in every part; None: pools, and containers too large for one part. A pool is a
               container in which nothing counts: see shared_containers.py
    together   a scope whose items are not cut: all containers of an item go to the same part

    Raises: ModelError if a goal or constraint depends on whether a container of `split` is used.
    """
    problem, rng = program.problem, np.random.default_rng(seed)
    loads = _loads(program)
    asked, by = used_or_not(problem)
    if split is None:
        shared = np.union1d(large_containers(loads, parts), pools(program))
        shared = shared[~asked[shared]]
    else:
        shared = np.unique(problem.containers.indices("split", split))
        if asked[shared].any():
            first = int(shared[asked[shared]][0])
            name = problem.containers.name(first)
            raise ModelError(f"{by[first]}: depends on whether {name} is used, so parts cannot share it")
    part_of_container = np.full(len(problem.containers), -1)
    rest = np.setdiff1d(np.arange(len(problem.containers)), shared)
    lumps = _lumps(problem, rest, together)
    lump_loads = np.bincount(lumps, weights=loads[rest], minlength=int(lumps.max(initial=-1)) + 1).astype(np.float64)
    kinds = _container_kinds(problem, rest, lumps, together)
    part_of_container[rest] = deal(how, kinds, lump_loads, parts, rng)[lumps]
    part_of_object = np.full(len(problem.objects), -1)
    free = np.flatnonzero(part_of_container[problem.initial] < 0)
    part_of_object[free] = deal(how, _object_kinds(program, free), np.ones(len(free)), parts, rng)
    return parts_of(problem.initial, part_of_container, part_of_object, parts)


def _loads(program: Program) -> Floats:
    """Return the load of each container, (C,).

    It is the container's share of all objects, plus its average share of the cost of each level at the start.
    """
    problem = program.problem
    held = np.bincount(problem.initial, minlength=len(problem.containers)) / max(len(problem.objects), 1)
    wrong = np.zeros(len(problem.containers))
    for level in range(program.levels):
        heat = container_heat(program.graph, program.goals, level, problem.initial, problem.initial)
        if heat.sum() > 0:
            wrong += heat / heat.sum() / program.levels
    return np.asarray(held + wrong, dtype=np.float64)


def _lumps(problem: Problem, containers: Ints, together: str | None) -> Ints:
    """Return the number of the lump of each container of `containers`, (c,).

    A lump is a set of containers that must go to the same part: those in one item of the scope `together`. Any other
    container is a lump of its own.
    """
    if together is None:
        return np.arange(len(containers))
    item = problem.scope("together", together).item[containers]
    alone = np.where(item >= 0, item, len(problem.containers) + np.arange(len(containers)))
    return np.asarray(np.unique(alone, return_inverse=True)[1], dtype=np.int64)


def _container_kinds(problem: Problem, containers: Ints, lumps: Ints, together: str | None) -> Ints:
    """Return the kind of each lump, (lumps,).

    Without `together`, each lump is one container. Containers of one kind have the same scope items and capacities.
    With `together`, all lumps are of one kind.
    """
    if together is not None:
        return np.zeros(int(lumps.max(initial=-1)) + 1, dtype=np.int64)
    marks = [scope.item[containers] for scope in problem.scopes.values() if len(scope) < len(problem.containers)]
    for dimension in problem.dimensions.values():
        if CONTAINER in dimension.capacities:  # the item already distinguishes capacities of a scope's items
            marks.append(np.unique(dimension.capacities[CONTAINER][containers], return_inverse=True)[1])
    return _numbered(marks, len(containers))


def _object_kinds(program: Program, objects: Ints) -> Ints:
    """Return the kind of each object of `objects`, (n,).

    Objects of one kind count the same in all cells of the graph.
    """
    marks = []
    for cell in program.graph.cells:
        for leaf in cell.leaves:
            marks.append(np.unique(leaf.values[objects], return_inverse=True)[1])
            if leaf.factor is not None:
                marks.append(leaf.factor.classes[objects])
            if leaf.columns is not None:
                weights = leaf.columns.T @ np.arange(1.0, leaf.columns.shape[0] + 1.0)
                marks.append(np.unique(weights[objects], return_inverse=True)[1])
    return _numbered(marks, len(objects))


def _numbered(marks: list[Ints], size: int) -> Ints:
    """Return a number for each of `size` items. Items that are equal in all arrays of `marks` have the same number."""
    kinds = np.zeros(size, dtype=np.int64)
    for mark in marks:
        kinds = np.unique(kinds * (int(mark.max(initial=0)) + 2) + mark + 1, return_inverse=True)[1].astype(np.int64)
    return kinds
