"""Make Arrow tables of a result, in the names of the problem."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from libs.assignment.graph.compiled import TOLERANCE, Compiled
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.labels import Labels
from libs.assignment.language.problem import Problem
from libs.assignment.language.problem_names import CONTAINER
from libs.assignment.language.specs.utilisation import utilisation


def moves_of(problem: Problem, assignment: Ints) -> pa.Table:
    """Return one row for each object that moves: object, from, to."""
    who = np.flatnonzero(assignment != problem.initial)
    return pa.table(
        {
            "object": _named(problem.objects, who),
            "from": _named(problem.containers, problem.initial[who]),
            "to": _named(problem.containers, assignment[who]),
        }
    )


def containers_of(problem: Problem, assignment: Ints) -> pa.Table:
    """Return one row for each container: container, before, after, came, left.

    The column `container` has names. All other columns have numbers of objects.
    """
    size, moved = len(problem.containers), assignment != problem.initial
    return pa.table(
        {
            "container": _named(problem.containers, np.arange(size)),
            "before": np.bincount(problem.initial, minlength=size),
            "after": np.bincount(assignment, minlength=size),
            "came": np.bincount(assignment[moved], minlength=size),
            "left": np.bincount(problem.initial[moved], minlength=size),
        }
    )


def specs_of(problem: Problem, assignment: Ints) -> pa.Table:
    """Return one row for each constraint, and then one row for each goal, in the order of their statement.

    name      the name of the spec
    kind      hard constraint, soft constraint or goal
    priority  the priority of a goal; null for a constraint
    weight    the weight as stated
    before    the value of the spec at the start: the total excess of a constraint, or the cost of a goal, neither
              scaled nor weighted
    after     the value of the spec in the answer
    broken    whether a constraint is broken in the answer; null for a goal
    """
    from libs.assignment.report.explain.terms import Terms  # its kernels take long to load

    terms = Terms(Compiled.of(problem))
    before, after = terms.values(problem.initial), terms.values(assignment)
    constraints, goals = problem.constraints, problem.goals
    kinds = ["hard constraint" if one.hard else "soft constraint" for one in constraints] + ["goal"] * len(goals)
    broken = [bool(value > _slack(value)) for value in after[: len(constraints)].tolist()]
    return pa.table(
        {
            "name": pa.array([one.name for one in terms.all], pa.string()),
            "kind": pa.array(kinds, pa.string()),
            "priority": pa.array([None] * len(constraints) + [goal.priority for goal in goals], pa.int64()),
            "weight": pa.array([one.weight for one in constraints] + [one.weight for one in goals], pa.float64()),
            "before": _clean(before),
            "after": _clean(after),
            "broken": pa.array(broken + [None] * len(goals), pa.bool_()),
        }
    )


def utilisation_of(problem: Problem, assignment: Ints, dimension: str, scope: str) -> pa.Table:
    """Return one row for each scope item: item, before, after, capacity, share.

    before, after  the utilisation of the item at the start and in the answer
    capacity       the capacity of the item; null if none was stated
    share          after / capacity; null if there is no capacity or the capacity is 0
    """
    where = "utilisation"
    found = utilisation(problem, where, scope, dimension)
    before, after = (np.asarray(found.utilisation(one).sum(axis=1)).ravel() for one in (problem.initial, assignment))
    known = problem.dimension(where, dimension).capacities
    items = problem.scope(where, scope).items
    stated = scope in known or CONTAINER in known
    capacity = problem.capacity(where, dimension, scope) if stated else np.full(len(items), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(capacity > 0, after / capacity, np.nan)
    return pa.table(
        {
            "item": _named(items, np.arange(len(items))),
            "before": before,
            "after": after,
            "capacity": pa.array(capacity, from_pandas=True),
            "share": pa.array(share, from_pandas=True),
        }
    )


def _named(labels: Labels, indices: Ints) -> pa.Array:
    return pa.array([labels.name(k) for k in indices.tolist()], pa.string())


def _slack(value: float) -> float:
    return TOLERANCE * max(1.0, abs(value))


def _clean(values: Floats) -> Floats:
    """Return the values with rounding residue set to 0."""
    return np.where(np.abs(values) <= 1e-12, 0.0, values)
