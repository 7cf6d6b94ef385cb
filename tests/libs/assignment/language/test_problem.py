"""Check the statement of a problem: accepted values, sizes, and the words of refusals."""

from __future__ import annotations

import numpy as np
import pytest

from libs.assignment import solve
from libs.assignment.incremental.program import compile_problem
from libs.assignment.language.errors import BadValues, Contradiction, ModelError, UnknownName
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.group_count import GroupCountSpec
from libs.assignment.language.specs.largest_group import LargestGroupSpec
from libs.assignment.language.specs.limit import Bound, Limit
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.language.specs.minimize_nth_largest_utilization import MinimizeNthLargestUtilizationSpec
from libs.assignment.language.specs.util_increase_cost import UtilIncreaseCostSpec
from tests.libs.assignment.worlds import CONTAINERS, OBJECTS, small_world


def test_a_million_objects_are_stated_and_made_ready() -> None:
    objects, containers, jobs = 1_000_000, 20_000, 50_000
    rng = np.random.default_rng(0)
    problem = Problem(objects=objects, containers=containers, initial=rng.integers(containers, size=objects))
    problem.add_scope("rack", np.arange(containers) // 40)
    problem.add_partition("job", rng.integers(jobs, size=objects), jobs)
    problem.add_dimension("cpu", rng.random(objects), containers=np.full(containers, 60.0))
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    problem.add_constraint(GroupCountSpec(scope="rack", partition="job", limit=Limit(default=3)))
    problem.add_goal(MinimizeMovementSpec())
    program = compile_problem(problem)
    state = program.state(problem.initial)
    assert state.part.nbytes + state.whole.nbytes < 200 * (objects + containers)
    count = np.bincount(problem.initial // 40 * jobs + problem.partitions["job"].matrix.tocsc().indices, minlength=1)
    assert state.part[0] >= np.maximum(count - 3, 0).sum()


def test_unknown_names_say_which_is_nearest() -> None:
    problem = small_world()
    with pytest.raises(UnknownName, match="CapacitySpec 'fits': no dimension named 'cpuu'; did you mean 'cpu'"):
        problem.add_constraint(CapacitySpec(name="fits", dimension="cpuu"))
    with pytest.raises(UnknownName, match="no scope named 'racks'; did you mean 'rack'"):
        problem.add_constraint(CapacitySpec(dimension="cpu", scope="racks"))
    with pytest.raises(UnknownName, match="no partition named 'jobs'; did you mean 'job'"):
        problem.add_constraint(GroupCountSpec(partition="jobs"))
    with pytest.raises(UnknownName, match="no rack named 'rakc0'; did you mean 'rack0'"):
        problem.add_goal(CapacitySpec(dimension="cpu", scope="rack", limit=Limit(items={"rakc0": 1})))


@pytest.mark.parametrize(
    ("cpu", "message"),
    [
        (np.full(OBJECTS, np.nan), "dimension 'x', objects: values at \\[0\\], \\[1\\]"),
        (np.arange(OBJECTS) - 1.0, "negative at \\[0\\] \\(-1.0\\); pass signed=True if they may be"),
        (np.ones(3), f"expected {OBJECTS} values, got an array of shape \\(3,\\)"),
    ],
)
def test_bad_numbers_are_refused(cpu: np.ndarray, message: str) -> None:
    with pytest.raises(BadValues, match=message):
        small_world().add_dimension("x", cpu)


def test_bad_indices_are_refused() -> None:
    with pytest.raises(BadValues, match=r"initial: indices are outside 0\.\.1 at 1"):
        Problem(objects=2, containers=2, initial=[0, 2])
    problem = small_world()
    with pytest.raises(BadValues, match=f"scope 'zone': expected {CONTAINERS} indices"):
        problem.add_scope("zone", [0, 1])
    with pytest.raises(BadValues, match="expected integers, got float64"):
        problem.add_partition("user", np.zeros(OBJECTS))
    with pytest.raises(BadValues, match="an object is in one group twice"):
        problem.add_overlapping_partition("user", [0, 0], [1, 1])
    with pytest.raises(BadValues, match="table has shape \\(2, 2\\); expected 3 columns, one per item of 'rack'"):
        problem.add_dimension("x", 1.0, by_item=("rack", np.zeros(OBJECTS, dtype=int), np.ones((2, 2))))
    with pytest.raises(BadValues, match="names occur twice: a"):
        Problem(objects=["a", "a"], containers=1, initial=[0, 0])


def test_what_is_easily_mistaken_is_refused_with_what_to_write() -> None:
    problem = small_world()
    with pytest.raises(BadValues, match="dimension 'x', objects: expected numbers, got '4Gi', '4Gi'"):
        problem.add_dimension("x", ["4Gi"] * OBJECTS)
    with pytest.raises(BadValues, match="initial: -1 is no container; add a container for objects without a place"):
        Problem(objects=2, containers=2, initial=[0, -1])
    with pytest.raises(ModelError, match=r"is a class of specs; give a spec: MinimizeMovementSpec\(\.\.\.\)"):
        problem.add_goal(MinimizeMovementSpec)
    with pytest.raises(ModelError, match="'movement' is not a spec"):
        problem.add_constraint("movement")
    with pytest.raises(BadValues, match="weight = '1'; expected a finite number"):
        problem.add_goal(MinimizeMovementSpec(), weight="1")
    with pytest.raises(ModelError, match=r"but = 3; expected a list, such as \[3\]"):
        problem.add_constraint(CapacitySpec(dimension="cpu", filter=Filter(but=3)))
    with pytest.raises(BadValues, match=r"limits = 5; expected Limits, such as Limits\(time_s_max=10\)"):
        solve(problem, 5)


def test_what_is_there_already_is_not_replaced() -> None:
    with pytest.raises(ModelError, match="dimension 'cpu' exists already"):
        small_world().add_dimension("cpu", 1.0)


def test_a_relative_limit_needs_a_capacity() -> None:
    with pytest.raises(ModelError, match="'count' has no capacity for scope 'container'; use add_capacity"):
        small_world().add_constraint(CapacitySpec(dimension="count"))


def test_weights_and_priorities_are_checked() -> None:
    problem = small_world()
    with pytest.raises(BadValues, match="weight = -1"):
        problem.add_goal(MinimizeMovementSpec(), weight=-1)
    with pytest.raises(BadValues, match="priority = -1"):
        problem.add_goal(MinimizeMovementSpec(), priority=-1)
    with pytest.raises(BadValues, match=r"priority = 1\.5; expected a whole number"):
        problem.add_goal(MinimizeMovementSpec(), priority=1.5)
    with pytest.raises(ModelError, match="MinimizeMovementSpec can only be a goal"):
        problem.add_constraint(MinimizeMovementSpec())


def test_what_an_expression_refuses_names_the_spec() -> None:
    problem = small_world()
    problem.add_overlapping_partition("empty", [], [], 0)
    with pytest.raises(BadValues, match="LargestGroupSpec 'safe': Max: n = 0; there are 0 values"):
        problem.add_goal(LargestGroupSpec(name="safe", partition="empty"))


def test_contradictory_hard_constraints_are_refused_by_name() -> None:
    problem = small_world()
    problem.add_constraint(CapacitySpec(name="few", dimension="cpu", limit=Limit(default=10)))
    least = CapacitySpec(name="many", dimension="cpu", bound=Bound.MIN, limit=Limit(default=10, items={"host3": 12}))
    problem.add_constraint(least, hard=False)
    compile_problem(problem)
    problem.add_constraint(least)
    said = r"'few' asks for at most 10 in row 3, column 0, CapacitySpec 'many' asks for at least 12 in row 3, column 0"
    with pytest.raises(Contradiction, match=said):
        compile_problem(problem)


def test_limits_that_no_assignment_changes_do_not_exclude_each_other() -> None:
    problem = Problem(objects=2, containers=2, initial=[0, 1])
    for name in ("weight", "watts"):
        problem.add_dimension(name, np.zeros(2))
        problem.add_constraint(CapacitySpec(name=name, dimension=name, bound=Bound.MIN, limit=Limit(default=3)))
    compile_problem(problem)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (
            lambda: CapacitySpec(dimension="cpu", bound="min"),
            "CapacitySpec: bound: no Bound named 'min'; did you mean 'MIN'",
        ),
        (lambda: CapacitySpec(dimension="cpu", flavour="AFTR"), "flavour: no Flavour named 'AFTR'"),
        (lambda: CapacitySpec(dimension=3), "CapacitySpec: dimension = 3; expected str"),
        (
            lambda: CapacitySpec(dimension="cpu", limit=[4]),
            r"limit = .4.; expected a number, a mapping by scope item",
        ),
        (
            lambda: CapacitySpec(dimension="cpu", filter={"but": "host1"}),
            "filter = .*; expected names",
        ),
        (lambda: CapacitySpec(dimension="cpu", zero_allowed="no"), "zero_allowed = 'no'; expected bool"),
        (lambda: Limit(default=float("nan")), "Limit: default = nan; expected a finite number"),
        (
            lambda: Limit(type="relative"),
            "Limit: type: no LimitType named 'relative'; did you mean 'RELATIVE'",
        ),
        (lambda: MinimizeMovementSpec(allowance=float("inf")), "allowance = inf; expected a finite number"),
        (lambda: MinimizeNthLargestUtilizationSpec(dimension="cpu", n=1.5), "n = 1.5; expected a whole number"),
        (lambda: UtilIncreaseCostSpec(dimension="cpu", lower_bound="half"), "lower_bound = 'half'; expected a finite"),
    ],
)
def test_fields_hold_what_they_say(state, message: str) -> None:
    """A wrong word for an enum would equal no member, and silently mean the other one."""
    with pytest.raises(ModelError, match=message):
        state()


def test_values_too_small_to_be_weighed_are_refused() -> None:
    problem = Problem(objects=2, containers=2, initial=[0, 0])
    problem.add_dimension("dust", [1e-310, 0.0])
    with pytest.raises(
        ModelError, match="MinimizeMovementSpec: weight 1 divided by scale 1e-310 is not finite; use larger"
    ):
        problem.add_goal(MinimizeMovementSpec(dimension="dust"))
