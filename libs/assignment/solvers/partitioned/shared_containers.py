"""Which containers are in every part: pools, and those too large to be in one."""

from __future__ import annotations

import numpy as np

from libs.assignment.incremental.program import Program
from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.expressions.ceil import Ceil
from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.lookup import Lookup
from libs.assignment.language.expressions.step import Step
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem import Problem

LARGE, UNLIKE = 0.25, 4.0
"""A container is split that has more than this of a part's fair share, and this many times what one has on average."""


def large_containers(loads: Floats, parts: int) -> Ints:
    """The containers that hold, or lack, so much that the part with them would be unlike the others.

    In the words of POP this is client splitting where containers are what asks, and resource splitting where objects
    are.
    """
    total = float(loads.sum())
    most = max(LARGE * total / parts, UNLIKE * total / max(len(loads), 1))
    return np.flatnonzero(loads > most)


def pools(program: Program) -> Ints:
    """Containers in which nothing counts: whoever is there is free to go anywhere, or is nowhere yet."""
    counts = np.zeros(len(program.problem.containers), dtype=np.bool_)
    for cell in program.graph.cells:
        for leaf in cell.leaves:
            if leaf.flavour is Flavour.AFTER:
                here = np.zeros(len(counts), dtype=np.bool_)
                here[leaf.rows.indices] = True
                counts |= here if leaf.factor is None else here & (leaf.factor.scope.item >= 0)
    return np.flatnonzero(~counts)


def used_or_not(problem: Problem) -> tuple[Bools, dict[int, str]]:
    """(C,) containers of which some goal or constraint asks whether they are used at all, and by whom.

    Two parts would both pay for opening such a container, and neither could close it: it is not split.
    """
    asked = np.zeros(len(problem.containers), dtype=np.bool_)
    by: dict[int, str] = {}
    for spec, expressions in _all(problem):
        for lookup in _under_steps(expressions):
            item = lookup.scope.item
            alone = np.bincount(item[item >= 0], minlength=len(lookup.scope)) == 1
            inside = np.flatnonzero(item >= 0)
            who = inside[alone[item[inside]]]
            asked[who] = True
            for container in who.tolist():
                by.setdefault(container, spec)
    return asked, by


def _all(problem: Problem) -> list[tuple[str, tuple[Expression, ...]]]:
    stated = [(one.spec.where, one.excess) for one in problem.constraints]
    return stated + [(goal.spec.where, (goal.cost,)) for goal in problem.goals if goal.weight]


def _under_steps(expressions: tuple[Expression, ...]) -> list[Lookup]:
    """Lookups of all objects that a Step or Ceil is applied to."""
    found: dict[int, Lookup] = {}
    todo, seen = [(one, False) for one in expressions], set()
    while todo:
        node, under = todo.pop()
        under = under or isinstance(node, Step | Ceil)
        if (id(node), under) in seen:
            continue
        seen.add((id(node), under))
        if isinstance(node, Lookup) and under and node.partition is None:
            found[id(node)] = node
        todo.extend((child, under) for child in node.children())
    return list(found.values())
