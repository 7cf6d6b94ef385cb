"""Anti-affinity, read from the group count specs."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from libs.assignment.arrays import Bools, Floats
from libs.assignment.expressions.expression import Constant
from libs.assignment.flavour import Flavour
from libs.assignment.matrices import Matrix, csr
from libs.assignment.prices.market import Groups
from libs.assignment.problem import Problem
from libs.assignment.specs.group_count import CountBound, GroupCountSpec


def groups_of(problem: Problem, outside: Bools) -> Groups:
    """The groups whose objects together exceed their limit: no other one is ever broken.

    Raises: ModelError where a spec is more than a largest number per scope item and group.
    """
    specs: list[str] = []
    names: list[str] = []
    weights, items = [], []
    limits, rules = [np.zeros(0)], [np.zeros(0, np.int64)]
    entries: list[Matrix] = []
    for constraint in problem.constraints:
        spec = constraint.spec
        if not isinstance(spec, GroupCountSpec):
            continue
        limit = _limit(problem, spec)
        partition, scope = problem.partition(spec.where, spec.partition), problem.scope(spec.where, spec.scope)
        values = problem.dimension(spec.where, spec.dimension).objects
        kept = np.zeros(len(scope), dtype=bool)
        kept[spec.filter.kept(spec.where, scope.items)] = True
        item = np.where((scope.item >= 0) & kept[scope.item], scope.item, -1)
        binding = np.flatnonzero(partition.totals(values) > limit)
        if len(binding) and (item[outside] >= 0).any():
            raise spec.refuse("filter", spec.filter, "limits what is not placed; leave that out")
        entries.append(csr(partition.matrix[binding]).multiply(values))
        limits.append(limit[binding])
        rules.append(np.full(len(binding), len(specs)))
        names.extend(partition.groups.name(int(g)) for g in binding)
        items.append(item)
        specs.append(spec.where)
        weights.append(constraint.weight)
    entered = sparse.vstack([csr((0, len(problem.objects))), *entries], format="csr")
    found = csr(entered.T)
    return Groups(
        start=found.indptr.astype(np.int64),
        group=found.indices.astype(np.int64),
        amount=found.data,
        limit=np.concatenate(limits),
        rule=np.concatenate(rules).astype(np.int64),
        item=np.array(items, dtype=np.int64).reshape(len(specs), len(problem.containers)),
        spec=tuple(specs),
        name=tuple(names),
        weight=np.array(weights, dtype=np.float64),
    )


def _limit(problem: Problem, spec: GroupCountSpec) -> Floats:
    """(G,) or a refusal."""
    dimension = problem.dimension(spec.where, spec.dimension)
    if spec.bound is not CountBound.MAX:
        raise spec.refuse("bound", spec.bound.value, "price-and-round takes largest numbers only")
    if spec.flavour is not Flavour.AFTER:
        raise spec.refuse("flavour", spec.flavour.value, "price-and-round looks at the end only: AFTER")
    if dimension.by_item is not None or (dimension.objects < 0).any():
        raise spec.refuse("dimension", spec.dimension, "price-and-round takes one value of 0 or more for each object")
    limit = spec.limits(problem, spec.flavour)
    if not isinstance(limit, Constant) or limit.pairs is not None or np.ptp(limit.by_row):
        raise spec.refuse("limit", spec.limit, "price-and-round takes limits by group only")
    return np.asarray(limit.by_column + limit.by_row[0])
