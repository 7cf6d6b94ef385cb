"""Whether a placement holds what was asked for: by definition, without what the kernels kept."""

from __future__ import annotations

import numpy as np

from libs.assignment.arrays import Ints
from libs.assignment.prices.market import Groups
from libs.assignment.problem import Problem
from libs.assignment.specs.group_count import GroupCountSpec

SLACK = 1e-7
"""What sums of many floats may be off, of a container's limit or of 1."""


def broken(problem: Problem, groups: Groups, assignment: Ints) -> float:
    """What is broken, weighted, over all constraints; groups are counted where anything is, not for all pairs."""
    total = 0.0
    for constraint in problem.constraints:
        if not isinstance(constraint.spec, GroupCountSpec):
            found = sum(float(part.value(assignment).sum()) for part in constraint.excess)
            total += constraint.weight * (found if found > SLACK else 0.0)
    for rule, weight in enumerate(groups.weight):
        total += float(weight) * _crowded(groups, rule, assignment)
    return total


def _crowded(groups: Groups, rule: int, assignment: Ints) -> float:
    objects = np.repeat(np.arange(len(assignment)), np.diff(groups.start))
    item = groups.item[rule][assignment[objects]]
    counts = (groups.rule[groups.group] == rule) & (item >= 0)
    pair = groups.group[counts] * groups.item.shape[1] + item[counts]
    key, inverse = np.unique(pair, return_inverse=True)
    held = np.bincount(inverse, weights=groups.amount[counts], minlength=len(key))
    excess = np.maximum(held - groups.limit[key // groups.item.shape[1]], 0.0)
    return float(excess[excess > SLACK].sum())
