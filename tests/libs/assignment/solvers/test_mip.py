"""Test the mixed-integer solver: starts, limits, bounds, progress and cancelling."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import pytest

from libs.assignment.graph.compiled import Compiled
from libs.assignment.language.errors import BadValues, NotLowerable, TimeUp
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.balance import BalanceFormula, BalanceSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.limit import Limit
from libs.assignment.language.specs.minimize_bins import MinimizeBinsSpec
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.model.lower import lower, lower_compiled
from libs.assignment.solvers import mip
from libs.assignment.solvers.caller import Progress
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.mip import solve_mip
from libs.assignment.solvers.portfolio.solver import solve_portfolio
from libs.assignment.solvers.result import Outcome
from libs.assignment.solvers.settings import MipLimits, SearchLimits
from libs.mip import highs
from libs.mip.highs import solve_lp
from libs.mip.model import Model


def packing(objects: int = 40, containers: int = 12, seed: int = 3) -> Problem:
    """Return objects of many sizes that fit into few containers; the optimum is hard to prove."""
    rng = np.random.default_rng(seed)
    problem = Problem(objects=objects, containers=containers, initial=rng.integers(containers, size=objects))
    problem.add_dimension("cpu", rng.integers(20, 60, size=objects).astype(float), containers=200.0)
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    problem.add_goal(MinimizeBinsSpec())
    problem.add_goal(MinimizeMovementSpec(), priority=1)
    return problem


def test_without_room_to_search_the_answer_is_the_start_and_the_bound_is_true() -> None:
    problem = packing()
    result = solve_mip(problem, MipLimits(nodes_max=0))
    assert result.stopped_by in (StoppedBy.WORK, StoppedBy.OPTIMAL)
    cpu = problem.dimensions["cpu"].objects
    least = math.ceil(cpu.sum() / 200.0)
    assert result.bound[1] * 12 <= least + 1e-6
    values = (result.broken[1], *result.objective[1])
    assert all(bound <= value + 1e-9 for bound, value in zip(result.bound, values, strict=True))
    if result.stopped_by is StoppedBy.WORK:
        assert "at least" in result.in_words()


def test_a_better_start_is_kept_and_a_worse_one_is_not() -> None:
    problem = packing()
    good = solve_mip(problem, MipLimits(nodes_max=20))
    kept = solve_mip(problem, MipLimits(nodes_max=0), start=good.assignment)
    assert (kept.broken[1], *kept.objective[1]) <= (good.broken[1], *good.objective[1])
    crammed = np.zeros(len(problem.objects), dtype=np.int64)
    problem.initial = good.assignment
    held = solve_mip(problem, MipLimits(nodes_max=0), start=crammed)
    assert held.broken[1] <= held.broken[0]


def test_the_same_seed_and_nodes_give_the_same_answer() -> None:
    first, second = (solve_mip(packing(), MipLimits(nodes_max=5), seed=4) for _ in range(2))
    assert (first.assignment == second.assignment).all()
    assert first.bound == second.bound


def test_progress_is_told_by_level_and_cancelling_keeps_the_best() -> None:
    heard: list[Progress] = []
    result = solve_mip(packing(), progress=heard.append, cancelled=lambda: len(heard) > 2)
    assert {told.level for told in heard} <= {0, 1, 2}
    assert heard
    assert result.stopped_by is StoppedBy.CANCELLED
    assert "asked to" in result.in_words()
    assert result.broken[1] <= result.broken[0]


def test_a_lower_priority_never_costs_a_higher_one() -> None:
    problem = Problem(objects=6, containers=3, initial=[0, 0, 0, 0, 0, 0])
    problem.add_dimension("cpu", 1.0, containers=6.0)
    problem.add_goal(BalanceSpec(dimension="cpu", formula=BalanceFormula.MAX), priority=3)
    problem.add_goal(MinimizeMovementSpec(), priority=7)
    result = solve_mip(problem)
    assert np.bincount(result.assignment).tolist() == [2, 2, 2]
    assert result.objective[1] == pytest.approx((0.0, 4 / 6))
    assert result.moved == 4


def test_curves_are_made_exact_where_the_answer_lies() -> None:
    """A sum of squares by pieces alone is one percent off. The answer and the bound must not be."""
    problem = Problem(objects=9, containers=3, initial=np.zeros(9, int))
    sizes = np.array([3.1, 4.3, 5.7, 7.9, 11.3, 13.9, 17.1, 19.7, 23.3])
    problem.add_dimension("cpu", sizes, containers=[50.0, 60.0, 70.0])
    problem.add_goal(BalanceSpec(dimension="cpu", formula=BalanceFormula.IDEAL), normalise=False)
    lowered = lower(problem)
    result = solve_mip(problem)
    held = np.bincount(result.assignment, sizes, 3)
    best = float((held**2 / [50.0, 60.0, 70.0]).sum())
    assert result.objective[1][0] == pytest.approx(best)
    said = lowered.values(lowered.point(result.assignment))[1]
    assert said < best * (1 - 2e-4)
    assert best * (1 - 2e-4) <= result.bound[1] <= best + 1e-6


@pytest.mark.parametrize("hard", [True, False])
def test_a_container_that_is_not_in_use_has_no_capacity(hard: bool) -> None:
    """Then the relaxation alone gives the number of containers that the objects fill, not a fraction of one."""
    problem = packing()
    problem.constraints.clear()
    problem.add_constraint(CapacitySpec(dimension="cpu"), hard=hard)
    found = solve_lp(lower(problem).at(1, [0.0]), "simplex")
    assert found.objective * 12 == pytest.approx(problem.dimensions["cpu"].objects.sum() / 200.0)


def test_large_models_are_relaxed_first_so_that_there_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = highs.solve_lp

    def solve(model: Model, method: highs.Method, *given: object, **more: object) -> highs.Solution:
        asked.append(method)
        return real(model, method, *given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(highs, "solve_lp", solve)
    monkeypatch.setattr(mip, "LARGE", 10)
    problem = packing(objects=36)
    problem.initial = np.arange(36) % 12  # nothing is broken
    result = solve_mip(problem, MipLimits(nodes_max=0))
    assert result.broken == (0.0, 0.0)
    assert set(asked) == {"ipm"}
    assert result.bound[1] * 12 >= problem.dimensions["cpu"].objects.sum() / 200.0 - 1e-3


def test_too_many_counts_are_refused_with_the_numbers() -> None:
    problem = Problem(objects=4000, containers=4000, initial=np.arange(4000))
    problem.add_dimension("cpu", np.arange(4000) + 1.0, containers=4000.0)
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    with pytest.raises(NotLowerable, match="4000 classes of equivalent objects and 4000 containers make 16000000"):
        solve_mip(problem)


@pytest.mark.parametrize(
    ("given", "said"),
    [({"time_s_max": 0.0}, "time_s_max"), ({"nodes_max": -1}, "nodes_max"), ({"relative_gap": -0.1}, "relative_gap")],
)
def test_limits_must_make_sense(given: dict[str, float], said: str) -> None:
    with pytest.raises(BadValues, match=said):
        MipLimits(**given)


@pytest.mark.parametrize("solve", [solve_mip, solve_portfolio])
def test_a_model_that_is_not_built_in_time_leaves_the_start_and_a_true_bound(solve: Callable[..., Outcome]) -> None:
    problem = packing()
    late = solve(problem, SearchLimits(time_s_max=1e-6))
    assert late.stopped_by is StoppedBy.TIME
    assert (late.assignment == problem.initial).all()
    assert late.objective[1] == late.objective[0]
    assert all(bound <= value for bound, value in zip(late.bound[1:], late.objective[1], strict=True))
    assert late.notes == ("building the model took all the time",)


def test_building_a_model_ends_with_the_clock() -> None:
    with pytest.raises(TimeUp):
        lower_compiled(Compiled.of(packing()), until=time.perf_counter())


def test_whether_constraints_can_all_hold_is_found_out_where_there_is_time() -> None:
    problem = Problem(objects=4, containers=2, initial=[0, 0, 0, 1])
    problem.add_constraint(CapacitySpec(dimension="count", limit=Limit(default=1.0)))
    assert any("cannot all hold" in note for note in solve_mip(problem).notes)
    assert mip._impossible(problem, time.perf_counter(), 1.0) == (
        "no time was left to find out whether the constraints can all hold",
    )
