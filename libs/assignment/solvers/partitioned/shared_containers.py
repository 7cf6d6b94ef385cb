"""Choose the containers to split, which are then in every part: pools, and containers too large for one part.

A pool is a container in which nothing counts.
"""

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
"""A container is split if its load exceeds the share LARGE of a part's fair load, and UNLIKE times the average load.

The fair load of a part is the total load divided by the number of parts.
"""


def large_containers(loads: Floats, parts: int) -> Ints:
    """Return the containers whose load would make their part unlike all other parts.

    POP calls this client splitting if the containers are the clients, and resource splitting if the objects are.

    loads  (C,) the load of each container
    parts  the number of parts
    """
    total = float(loads.sum())
    most = max(LARGE * total / parts, UNLIKE * total / max(len(loads), 1))
    return np.flatnonzero(loads > most)


def pools(program: Program) -> Ints:
    """Return the pools: the containers in which no object counts.

    The objects in a pool are free to go anywhere, or are not placed yet.
    """
    counts = np.zeros(len(program.problem.containers), dtype=np.bool_)
    for cell in program.graph.cells:
        for leaf in cell.leaves:
            if leaf.flavour is Flavour.AFTER:
                here = np.zeros(len(counts), dtype=np.bool_)
                here[leaf.rows.indices] = True
                counts |= here if leaf.factor is None else here & (leaf.factor.scope.item >= 0)
    return np.flatnonzero(~counts)


def used_or_not(problem: Problem) -> tuple[Bools, dict[int, str]]:
    """Return for each container whether a goal or constraint depends on whether it is used, (C,).

    Return also the name of one spec of that goal or constraint for each such container. Such a container must not be
    split: two parts would both pay for its use, and neither part could end its use.
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
    """Return the lookups inside a Step or Ceil that have no partition, so that they count all objects of an item."""
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
