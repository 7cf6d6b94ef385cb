"""Assign objects to containers: state goals and constraints in specs, and solve them at any scale.

The library does not know servers. Every public name is here. Each is imported at its first use, so importing the
package itself costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from libs.assignment.facade.objective import Objective
    from libs.assignment.facade.solve import solve
    from libs.assignment.language.errors import BadValues, Contradiction, ModelError, NotLowerable, UnknownName
    from libs.assignment.language.expressions.ceil import Ceil
    from libs.assignment.language.expressions.expression import Constant, Expression, Sum
    from libs.assignment.language.expressions.log import Log
    from libs.assignment.language.expressions.lookup import Lookup
    from libs.assignment.language.expressions.max import Max, Over
    from libs.assignment.language.expressions.positive_part import PositivePart
    from libs.assignment.language.expressions.power import Power
    from libs.assignment.language.expressions.step import Step
    from libs.assignment.language.flavour import Flavour
    from libs.assignment.language.problem import Problem
    from libs.assignment.language.specs.assignment_affinities import AssignmentAffinitiesSpec
    from libs.assignment.language.specs.avoid_assignments import AvoidAssignmentsSpec
    from libs.assignment.language.specs.avoid_moving import AvoidMovingSpec
    from libs.assignment.language.specs.balance import BalanceBound, BalanceFormula, BalanceSpec
    from libs.assignment.language.specs.capacity import CapacitySpec
    from libs.assignment.language.specs.colocate_groups import ColocateGroupsSpec
    from libs.assignment.language.specs.drain_capacity import DrainCapacitySpec
    from libs.assignment.language.specs.filter import Filter
    from libs.assignment.language.specs.group_count import CountBound, GroupCountSpec, RelativeTo
    from libs.assignment.language.specs.group_dependency import GroupDependencySpec
    from libs.assignment.language.specs.group_diversity import GroupDiversitySpec
    from libs.assignment.language.specs.group_move_limit import Aggregate, GroupMoveLimitSpec
    from libs.assignment.language.specs.largest_group import LargestGroupSpec
    from libs.assignment.language.specs.limit import Bound, Limit, LimitType
    from libs.assignment.language.specs.logical_and import LogicalAndSpec
    from libs.assignment.language.specs.logical_or import LogicalOrSpec
    from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
    from libs.assignment.language.specs.minimize_bins import MinimizeBinsSpec
    from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
    from libs.assignment.language.specs.minimize_nth_largest_utilization import MinimizeNthLargestUtilizationSpec
    from libs.assignment.language.specs.move_group import MoveGroupSpec
    from libs.assignment.language.specs.moves_in_progress import MovesInProgressSpec
    from libs.assignment.language.specs.no_regression import NoRegressionSpec
    from libs.assignment.language.specs.non_accepting import NonAcceptingSpec
    from libs.assignment.language.specs.single_group_failure_buffer import SingleGroupFailureBufferSpec
    from libs.assignment.language.specs.spec import Spec, spec
    from libs.assignment.language.specs.to_free import ToFreeFormula, ToFreeSpec
    from libs.assignment.language.specs.util_increase_cost import UtilIncreaseCostSpec
    from libs.assignment.language.specs.utilisation import utilisation
    from libs.assignment.replay.file import Replay, load_replay, save_replay
    from libs.assignment.report.explain.comparison import Comparison, compare
    from libs.assignment.report.explain.explainer import Explainer
    from libs.assignment.report.explain.timeline import timeline_of
    from libs.assignment.report.explain.tree import tree
    from libs.assignment.report.result import Result
    from libs.assignment.solvers.caller import Listener, Progress
    from libs.assignment.solvers.deal import Deal
    from libs.assignment.solvers.limits import Limits, StoppedBy
    from libs.assignment.solvers.portfolio.subproblem import Answer, CountSearch, Pool, Subproblem
    from libs.assignment.solvers.portfolio.subproblem_solver import solve_subproblem
    from libs.assignment.solvers.price.arrivals import Round, Stream
    from libs.assignment.solvers.price.settings import Granularity, PriceSettings
    from libs.assignment.solvers.prices import Prices
    from libs.assignment.solvers.registry import load_solver
    from libs.assignment.solvers.result import ModelSize

_PLACES = {
    "language.errors": "BadValues Contradiction ModelError NotLowerable UnknownName",
    "report.explain.comparison": "Comparison compare",
    "report.explain.explainer": "Explainer",
    "report.explain.timeline": "timeline_of",
    "report.explain.tree": "tree",
    "language.expressions.ceil": "Ceil",
    "language.expressions.expression": "Constant Expression Sum",
    "language.expressions.log": "Log",
    "language.expressions.lookup": "Lookup",
    "language.expressions.max": "Max Over",
    "language.expressions.positive_part": "PositivePart",
    "language.expressions.power": "Power",
    "language.expressions.step": "Step",
    "facade.objective": "Objective",
    "report.result": "Result",
    "facade.solve": "solve",
    "language.flavour": "Flavour",
    "solvers.deal": "Deal",
    "solvers.prices": "Prices",
    "solvers.price.settings": "Granularity PriceSettings",
    "solvers.price.arrivals": "Round Stream",
    "language.problem": "Problem",
    "replay.file": "Replay load_replay save_replay",
    "solvers.caller": "Listener Progress",
    "solvers.limits": "Limits StoppedBy",
    "solvers.portfolio.subproblem": "Answer CountSearch Pool Subproblem",
    "solvers.portfolio.subproblem_solver": "solve_subproblem",
    "solvers.registry": "load_solver",
    "solvers.result": "ModelSize",
    "language.specs.assignment_affinities": "AssignmentAffinitiesSpec",
    "language.specs.avoid_assignments": "AvoidAssignmentsSpec",
    "language.specs.avoid_moving": "AvoidMovingSpec",
    "language.specs.balance": "BalanceBound BalanceFormula BalanceSpec",
    "language.specs.capacity": "CapacitySpec",
    "language.specs.colocate_groups": "ColocateGroupsSpec",
    "language.specs.drain_capacity": "DrainCapacitySpec",
    "language.specs.filter": "Filter",
    "language.specs.group_count": "CountBound GroupCountSpec RelativeTo",
    "language.specs.group_dependency": "GroupDependencySpec",
    "language.specs.group_diversity": "GroupDiversitySpec",
    "language.specs.group_move_limit": "Aggregate GroupMoveLimitSpec",
    "language.specs.largest_group": "LargestGroupSpec",
    "language.specs.limit": "Bound Limit LimitType",
    "language.specs.logical_and": "LogicalAndSpec",
    "language.specs.logical_or": "LogicalOrSpec",
    "language.specs.maximize_allocation": "MaximizeAllocationSpec",
    "language.specs.minimize_bins": "MinimizeBinsSpec",
    "language.specs.minimize_movement": "MinimizeMovementSpec",
    "language.specs.minimize_nth_largest_utilization": "MinimizeNthLargestUtilizationSpec",
    "language.specs.move_group": "MoveGroupSpec",
    "language.specs.moves_in_progress": "MovesInProgressSpec",
    "language.specs.no_regression": "NoRegressionSpec",
    "language.specs.non_accepting": "NonAcceptingSpec",
    "language.specs.single_group_failure_buffer": "SingleGroupFailureBufferSpec",
    "language.specs.spec": "Spec spec",
    "language.specs.to_free": "ToFreeFormula ToFreeSpec",
    "language.specs.util_increase_cost": "UtilIncreaseCostSpec",
    "language.specs.utilisation": "utilisation",
}
"""Module -> the public names that it defines."""

_MODULES = {name: f"{__name__}.{module}" for module, names in _PLACES.items() for name in names.split()}

__all__ = [
    "Aggregate",
    "Answer",
    "AssignmentAffinitiesSpec",
    "AvoidAssignmentsSpec",
    "AvoidMovingSpec",
    "BadValues",
    "BalanceBound",
    "BalanceFormula",
    "BalanceSpec",
    "Bound",
    "CapacitySpec",
    "Ceil",
    "ColocateGroupsSpec",
    "Comparison",
    "Constant",
    "Contradiction",
    "CountBound",
    "CountSearch",
    "Deal",
    "DrainCapacitySpec",
    "Explainer",
    "Expression",
    "Filter",
    "Flavour",
    "Granularity",
    "GroupCountSpec",
    "GroupDependencySpec",
    "GroupDiversitySpec",
    "GroupMoveLimitSpec",
    "LargestGroupSpec",
    "Limit",
    "LimitType",
    "Limits",
    "Listener",
    "Log",
    "LogicalAndSpec",
    "LogicalOrSpec",
    "Lookup",
    "Max",
    "MaximizeAllocationSpec",
    "MinimizeBinsSpec",
    "MinimizeMovementSpec",
    "MinimizeNthLargestUtilizationSpec",
    "ModelError",
    "ModelSize",
    "MoveGroupSpec",
    "MovesInProgressSpec",
    "NoRegressionSpec",
    "NonAcceptingSpec",
    "NotLowerable",
    "Objective",
    "Over",
    "Pool",
    "PositivePart",
    "Power",
    "PriceSettings",
    "Prices",
    "Problem",
    "Progress",
    "RelativeTo",
    "Replay",
    "Result",
    "Round",
    "SingleGroupFailureBufferSpec",
    "Spec",
    "Step",
    "StoppedBy",
    "Stream",
    "Subproblem",
    "Sum",
    "ToFreeFormula",
    "ToFreeSpec",
    "UnknownName",
    "UtilIncreaseCostSpec",
    "compare",
    "load_replay",
    "load_solver",
    "save_replay",
    "solve",
    "solve_subproblem",
    "spec",
    "timeline_of",
    "tree",
    "utilisation",
]


def __getattr__(name: str) -> Any:
    """Import a public name at its first use.

    Raises: AttributeError with the nearest name.
    """
    if name not in _MODULES:
        from difflib import get_close_matches

        near = get_close_matches(name, __all__, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    found = getattr(import_module(_MODULES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted({*globals(), *__all__})
