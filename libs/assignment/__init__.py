"""Objects to containers: say what is wanted in specs, solve it at any scale. Knows nothing about servers.

Every public name is here. Each is imported at its first use, so that the package itself costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from libs.assignment.errors import BadValues, Contradiction, ModelError, NotLowerable, UnknownName
    from libs.assignment.explain.comparison import Comparison, compare
    from libs.assignment.explain.explainer import Explainer
    from libs.assignment.explain.timeline import timeline_of
    from libs.assignment.explain.tree import tree
    from libs.assignment.expressions.ceil import Ceil
    from libs.assignment.expressions.expression import Constant, Expression, Sum
    from libs.assignment.expressions.log import Log
    from libs.assignment.expressions.lookup import Lookup
    from libs.assignment.expressions.max import Max, Over
    from libs.assignment.expressions.positive_part import PositivePart
    from libs.assignment.expressions.power import Power
    from libs.assignment.expressions.step import Step
    from libs.assignment.facade.objective import Objective
    from libs.assignment.facade.result import Result
    from libs.assignment.facade.solve import solve
    from libs.assignment.flavour import Flavour
    from libs.assignment.lowering.lower import lower
    from libs.assignment.lowering.lowered import Lowered
    from libs.assignment.prices.prices import Prices
    from libs.assignment.prices.settings import Granularity, PriceSettings
    from libs.assignment.prices.stream import Round, Stream
    from libs.assignment.problem import Problem
    from libs.assignment.replay.file import Replay, load_replay, save_replay
    from libs.assignment.solvers.caller import Listener, Progress
    from libs.assignment.solvers.deal import Deal
    from libs.assignment.solvers.limits import Limits, StoppedBy
    from libs.assignment.specs.assignment_affinities import AssignmentAffinitiesSpec
    from libs.assignment.specs.avoid_assignments import AvoidAssignmentsSpec
    from libs.assignment.specs.avoid_moving import AvoidMovingSpec
    from libs.assignment.specs.balance import BalanceBound, BalanceFormula, BalanceSpec
    from libs.assignment.specs.capacity import CapacitySpec
    from libs.assignment.specs.colocate_groups import ColocateGroupsSpec
    from libs.assignment.specs.drain_capacity import DrainCapacitySpec
    from libs.assignment.specs.filter import Filter
    from libs.assignment.specs.group_count import CountBound, GroupCountSpec, RelativeTo
    from libs.assignment.specs.group_dependency import GroupDependencySpec
    from libs.assignment.specs.group_diversity import GroupDiversitySpec
    from libs.assignment.specs.group_move_limit import Aggregate, GroupMoveLimitSpec
    from libs.assignment.specs.largest_group import LargestGroupSpec
    from libs.assignment.specs.limit import Bound, Limit, LimitType
    from libs.assignment.specs.logical_and import LogicalAndSpec
    from libs.assignment.specs.logical_or import LogicalOrSpec
    from libs.assignment.specs.maximize_allocation import MaximizeAllocationSpec
    from libs.assignment.specs.minimize_bins import MinimizeBinsSpec
    from libs.assignment.specs.minimize_movement import MinimizeMovementSpec
    from libs.assignment.specs.minimize_nth_largest_utilization import MinimizeNthLargestUtilizationSpec
    from libs.assignment.specs.move_group import MoveGroupSpec
    from libs.assignment.specs.moves_in_progress import MovesInProgressSpec
    from libs.assignment.specs.no_regression import NoRegressionSpec
    from libs.assignment.specs.non_accepting import NonAcceptingSpec
    from libs.assignment.specs.single_group_failure_buffer import SingleGroupFailureBufferSpec
    from libs.assignment.specs.spec import Spec, spec
    from libs.assignment.specs.to_free import ToFreeFormula, ToFreeSpec
    from libs.assignment.specs.util_increase_cost import UtilIncreaseCostSpec
    from libs.assignment.specs.utilisation import utilisation

_PLACES = {
    "errors": "BadValues Contradiction ModelError NotLowerable UnknownName",
    "explain.comparison": "Comparison compare",
    "explain.explainer": "Explainer",
    "explain.timeline": "timeline_of",
    "explain.tree": "tree",
    "expressions.ceil": "Ceil",
    "expressions.expression": "Constant Expression Sum",
    "expressions.log": "Log",
    "expressions.lookup": "Lookup",
    "expressions.max": "Max Over",
    "expressions.positive_part": "PositivePart",
    "expressions.power": "Power",
    "expressions.step": "Step",
    "facade.objective": "Objective",
    "facade.result": "Result",
    "facade.solve": "solve",
    "flavour": "Flavour",
    "lowering.lower": "lower",
    "lowering.lowered": "Lowered",
    "solvers.deal": "Deal",
    "prices.prices": "Prices",
    "prices.settings": "Granularity PriceSettings",
    "prices.stream": "Round Stream",
    "problem": "Problem",
    "replay.file": "Replay load_replay save_replay",
    "solvers.caller": "Listener Progress",
    "solvers.limits": "Limits StoppedBy",
    "specs.assignment_affinities": "AssignmentAffinitiesSpec",
    "specs.avoid_assignments": "AvoidAssignmentsSpec",
    "specs.avoid_moving": "AvoidMovingSpec",
    "specs.balance": "BalanceBound BalanceFormula BalanceSpec",
    "specs.capacity": "CapacitySpec",
    "specs.colocate_groups": "ColocateGroupsSpec",
    "specs.drain_capacity": "DrainCapacitySpec",
    "specs.filter": "Filter",
    "specs.group_count": "CountBound GroupCountSpec RelativeTo",
    "specs.group_dependency": "GroupDependencySpec",
    "specs.group_diversity": "GroupDiversitySpec",
    "specs.group_move_limit": "Aggregate GroupMoveLimitSpec",
    "specs.largest_group": "LargestGroupSpec",
    "specs.limit": "Bound Limit LimitType",
    "specs.logical_and": "LogicalAndSpec",
    "specs.logical_or": "LogicalOrSpec",
    "specs.maximize_allocation": "MaximizeAllocationSpec",
    "specs.minimize_bins": "MinimizeBinsSpec",
    "specs.minimize_movement": "MinimizeMovementSpec",
    "specs.minimize_nth_largest_utilization": "MinimizeNthLargestUtilizationSpec",
    "specs.move_group": "MoveGroupSpec",
    "specs.moves_in_progress": "MovesInProgressSpec",
    "specs.no_regression": "NoRegressionSpec",
    "specs.non_accepting": "NonAcceptingSpec",
    "specs.single_group_failure_buffer": "SingleGroupFailureBufferSpec",
    "specs.spec": "Spec spec",
    "specs.to_free": "ToFreeFormula ToFreeSpec",
    "specs.util_increase_cost": "UtilIncreaseCostSpec",
    "specs.utilisation": "utilisation",
}
"""Module -> the public names that it defines."""

_MODULES = {name: f"{__name__}.{module}" for module, names in _PLACES.items() for name in names.split()}

__all__ = [
    "Aggregate",
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
    "Lowered",
    "Max",
    "MaximizeAllocationSpec",
    "MinimizeBinsSpec",
    "MinimizeMovementSpec",
    "MinimizeNthLargestUtilizationSpec",
    "ModelError",
    "MoveGroupSpec",
    "MovesInProgressSpec",
    "NoRegressionSpec",
    "NonAcceptingSpec",
    "NotLowerable",
    "Objective",
    "Over",
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
    "Sum",
    "ToFreeFormula",
    "ToFreeSpec",
    "UnknownName",
    "UtilIncreaseCostSpec",
    "compare",
    "load_replay",
    "lower",
    "save_replay",
    "solve",
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
