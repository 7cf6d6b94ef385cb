"""Write the expression tree of a problem with its values as text."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.expressions.expression import DENSE_MAX, Constant, Expression, Sum
from libs.assignment.language.expressions.lookup import Lookup
from libs.assignment.language.expressions.max import Max
from libs.assignment.language.expressions.power import Power
from libs.assignment.language.problem import Problem

MOST_SHOWN = 3
"""Elements of an array to show: the largest by size."""


def tree(problem: Problem, assignment: Ints) -> str:
    """Return each constraint and goal with its tree of expressions below, and the value of each node.

    A shared node is written out once, with a number.
    """
    lines: list[str] = []
    known: dict[int, int] = {}
    for constraint in problem.constraints:
        kind = "hard constraint" if constraint.hard else "soft constraint"
        lines.append(f"{constraint.spec.where} ({kind}, weight {constraint.weight:g})")
        for excess in constraint.excess:
            _write(excess, assignment, 1, lines, known)
    for goal in problem.goals:
        counts = f"weight {goal.weight:g}, scale {goal.scale:g}"
        lines.append(f"{goal.spec.where} (goal, priority {goal.priority}, {counts})")
        _write(goal.cost, assignment, 1, lines, known)
    return "\n".join(lines)


def _write(node: Expression, assignment: Ints, depth: int, lines: list[str], known: dict[int, int]) -> None:
    indent = "  " * depth
    if id(node) in known:
        lines.append(f"{indent}{_what(node)}: see #{known[id(node)]}")
        return
    known[id(node)] = len(known) + 1
    lines.append(f"{indent}#{known[id(node)]} {_what(node)}: {_value(node, assignment)}")
    for child in node.children():
        _write(child, assignment, depth + 1, lines, known)


def _what(node: Expression) -> str:
    name, size = type(node).__name__, f"{node.shape[0]} x {node.shape[1]}"
    if isinstance(node, Lookup):
        groups = "" if node.partition is None else f" by {node.partition.name}"
        return f"{node.flavour} of {node.dimension.name} by {node.scope.name}{groups} [{size}]"
    if isinstance(node, Power):
        return f"Power {node.exponent:g} [{size}]"
    if isinstance(node, Max):
        rank = f", {node.n + 1}. largest" if node.n else ""
        return f"Max over {node.over.lower()}{rank} [{size}]"
    return f"{name} [{size}]"


def _value(node: Expression, assignment: Ints) -> str:
    if node.shape[0] * node.shape[1] > DENSE_MAX:
        return "too large to write out"
    if isinstance(node, Lookup):
        return _shown(np.asarray(node.utilisation(assignment).toarray()), node)
    return _shown(node.value(assignment), node)


def _shown(value: Floats, node: Expression) -> str:
    if value.size == 1:
        return f"{value[0, 0]:g}"
    largest = np.argsort(-np.abs(value), axis=None, kind="stable")[:MOST_SHOWN]
    shown = [f"{value.flat[k]:g} in {_place(node, *divmod(int(k), value.shape[1]))}" for k in largest if value.flat[k]]
    return f"sum {value.sum():g}" + (f"; {', '.join(shown)}" if shown else "")


def _place(node: Expression, row: int, column: int) -> str:
    """Return the place by the names of scope items and groups, if the node is a lookup or has the shape of one."""
    lookup = _lookup_of(node)
    if lookup is None:
        return f"row {row}, column {column}"
    item = lookup.scope.items.name(row)
    return item if lookup.partition is None else f"{item}, {lookup.partition.groups.name(column)}"


def _lookup_of(node: Expression) -> Lookup | None:
    if isinstance(node, Lookup):
        return node
    if isinstance(node, Max | Constant):
        return None
    if isinstance(node, Sum):
        plain = [term.child for term in node.terms if term.rows is None and term.columns is None]
        found = [_lookup_of(child) for child in plain]
        return next((one for one in found if one is not None), None)
    return _lookup_of(node.children()[0])
