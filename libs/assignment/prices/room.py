"""How much containers hold and objects take, read from the capacity specs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.arrays import Bools, Floats
from libs.assignment.errors import shown
from libs.assignment.flavour import Flavour
from libs.assignment.problem import Problem
from libs.assignment.problem_names import CONTAINER
from libs.assignment.specs.capacity import CapacitySpec
from libs.assignment.specs.limit import Bound


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Room:
    """Dimensions with a limit; see Market."""

    dimensions: tuple[str, ...]
    need: Floats
    capacity: Floats
    bounded: Bools


def room_of(problem: Problem, outside: Bools) -> Room:
    """Raises: ModelError where a capacity spec is more than a largest sum per container."""
    limits: dict[str, Floats] = {}
    for constraint in problem.constraints:
        spec = constraint.spec
        if not isinstance(spec, CapacitySpec):
            continue
        _require_plain(problem, spec)
        kept = spec.filter.kept(spec.where, problem.containers)
        known = limits.setdefault(spec.dimension, np.full(len(problem.containers), np.inf))
        known[kept] = np.minimum(known[kept], spec.limits(problem, kept))
        if known[outside].min() < problem.dimensions[spec.dimension].objects.sum():
            tight = shown(problem.containers.name(int(c)) for c in np.flatnonzero(outside & np.isfinite(known)))
            raise spec.refuse("filter", spec.filter, f"limits what is not placed ({tight}); leave that out")
    names = tuple(limits)
    need = np.zeros((len(problem.objects), len(names)))
    capacity = np.zeros((len(problem.containers), len(names)))
    for k, name in enumerate(names):
        need[:, k] = problem.dimensions[name].objects
        capacity[:, k] = limits[name]
    bounded = np.isfinite(capacity)
    return Room(
        dimensions=names, need=need, capacity=np.minimum(capacity, need.sum(axis=0) + 1.0), bounded=np.asarray(bounded)
    )


def _require_plain(problem: Problem, spec: CapacitySpec) -> None:
    dimension = problem.dimension(spec.where, spec.dimension)
    if spec.scope != CONTAINER:
        raise spec.refuse("scope", spec.scope, "price-and-round takes capacities of containers only")
    if spec.bound is not Bound.MAX:
        raise spec.refuse("bound", spec.bound.value, "price-and-round takes largest amounts only")
    if spec.flavour is not Flavour.AFTER:
        raise spec.refuse("flavour", spec.flavour.value, "price-and-round looks at the end only: AFTER")
    if dimension.by_item is not None:
        raise spec.refuse("dimension", spec.dimension, "differs by scope item; price-and-round takes one value each")
    if (dimension.objects < 0).any():
        raise spec.refuse("dimension", spec.dimension, "has negative values; price-and-round takes none")
