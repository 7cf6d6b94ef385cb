"""Check the search with columns of whole objects, where these are scarce."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from libs.assignment import GroupCountSpec, Limit, Limits, Problem, SingleGroupFailureBufferSpec, solve
from libs.assignment.model.lower import lower
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio import joint_columns, trees, whole_columns
from libs.assignment.solvers.portfolio.joint import Joint, search_together
from libs.assignment.solvers.portfolio.phases import Phases
from libs.assignment.solvers.portfolio.relaxation import Relaxation, relax
from libs.assignment.solvers.portfolio.thread_pool import ThreadPool
from libs.assignment.solvers.portfolio.watch import Clock
from libs.assignment.solvers.portfolio.whole_bound import Whole, Wishes
from libs.assignment.solvers.portfolio.whole_columns import WholeColumns, search_whole_columns
from libs.assignment.solvers.settings import PortfolioLimits
from libs.mip.highs import Limits as MipLimits
from libs.mip.highs import solve_mip
from tests.libs.assignment.solvers.portfolio.test_trees import world as odd

HALLS, WITHOUT = 4, PortfolioLimits(exact_columns_max=0)


def scarce(seed: int, parties: int = 7, objects: int = 11) -> Problem:
    """Return parties that need about an object each, also without any one hall, of which there are too few."""
    rng = np.random.default_rng(seed)
    problem = Problem(objects=objects, containers=parties + 1, initial=[parties] * objects)
    problem.add_scope("party", [*range(parties), -1], parties)
    problem.add_partition("hall", np.arange(objects) % HALLS, HALLS)
    problem.add_dimension("worth", np.where(np.arange(objects) % 3 == 0, 1.5, 1.0))
    needs = np.round(rng.uniform(0.3, 2.2, parties), 2)
    problem.add_goal(
        SingleGroupFailureBufferSpec(scope="party", partition="hall", dimension="worth", limit=Limit(items=needs)),
        weight=50.0,
        priority=0,
        normalise=False,
    )
    spread = Limit(items=np.round(needs / 3, 2))
    problem.add_goal(
        GroupCountSpec(scope="party", partition="hall", dimension="worth", limit=spread),
        weight=1.0,
        priority=1,
        normalise=False,
    )
    return problem


def searched(seed: int, time_s_max: float = math.inf) -> tuple[Lowered, Phases, Relaxation, WholeColumns]:
    """Return the columns of the sum of both goals, and the relaxation that they begin from."""
    lowered = lower(scarce(seed))
    assert lowered.sound
    model = lowered.weighted([0.0, 1.0, 1.0])
    phases = Phases(lowered, model, WITHOUT, 0, Clock(math.inf), ThreadPool())
    relaxation = relax(lowered, model)
    found = search_whole_columns(
        lowered, model, model, phases.shares, relaxation, lowered.held, pool=phases.pool, time_s_max=time_s_max
    )
    return lowered, phases, relaxation, found


@pytest.mark.parametrize("seed", range(8))
def test_bounds_hold_and_the_choice_is_nearly_the_best_plan(seed: int) -> None:
    lowered, phases, relaxation, found = searched(seed)
    exact = solve_mip(phases.model, MipLimits(relative_gap=0.0))
    assert exact.optimal
    assert found.relaxation.bound <= exact.objective + 1e-4
    assert found.relaxation.bound - relaxation.bound > 0.1 * (exact.objective - relaxation.bound)
    assert found.counts is not None
    assert (np.bincount(lowered.kind, found.counts) == lowered.classes.size).all()
    point = lowered.point_of(found.counts)
    assert (phases.model.matrix @ point <= phases.model.row_upper + 1e-6).all()
    assert (phases.model.matrix @ point >= phases.model.row_lower - 1e-6).all()
    assert exact.objective - 1e-6 <= phases.model.objective(point) <= 1.05 * exact.objective
    assert not found.timed_out


def test_the_last_prices_are_those_of_the_bound() -> None:
    lowered, _, _, found = searched(1)
    assert found.relaxation.rows is not None
    assert found.relaxation.raw is not None
    assert found.relaxation.price == pytest.approx(found.relaxation.rows[: len(lowered.classes.size)])
    wanted = np.bincount(lowered.container, found.relaxation.raw[: len(lowered.kind)])
    assert (wanted[:-1] > 0).any(), "the containers want something at these prices"


@pytest.mark.parametrize("time_s_max", [0.0, 0.01, 0.1])
def test_without_time_it_keeps_what_is_known(time_s_max: float) -> None:
    lowered, _, relaxation, found = searched(2, time_s_max)
    assert found.timed_out or time_s_max > 0.0
    assert found.relaxation.bound >= relaxation.bound
    if found.counts is not None:
        assert (np.bincount(lowered.kind, found.counts) == lowered.classes.size).all()


def test_in_rounds_of_swings_containers_with_fewest_objects_propose(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def recorded(*some: Any, **named: Any) -> Wishes:
        asked.append(int(named["asked"].sum()))
        return Wishes(*some, **named)

    monkeypatch.setattr(whole_columns, "Wishes", recorded)
    monkeypatch.setattr(whole_columns, "FEW", 1)
    monkeypatch.setattr(whole_columns, "SWINGS", 2)
    monkeypatch.setattr(whole_columns, "NEAR", 0.0)
    searched(0)
    assert asked[:4] == [8, 6, 6, 8]


def test_a_round_that_the_clock_ends_gives_no_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    class Late(Wishes):
        @property
        def whole(self) -> Whole:
            return super().whole._replace(timed_out=True)

    monkeypatch.setattr(whole_columns, "Wishes", Late)
    _, _, relaxation, found = searched(1)
    assert found.timed_out
    assert found.relaxation.bound > relaxation.bound
    assert found.relaxation.rows is relaxation.rows


@pytest.mark.parametrize(("patience", "least", "most"), [(10**9, 30, 30), (2, 4, 12)])
def test_rounds_end_when_some_in_a_row_find_no_better_prices(
    patience: int, least: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = list[int]()
    monkeypatch.setattr(whole_columns, "Wishes", lambda *some, **named: begun.append(1) or Wishes(*some, **named))
    for name, value in (("NEAR", -math.inf), ("SWINGS", 1), ("ROUNDS", 30), ("PATIENCE", patience)):
        monkeypatch.setattr(whole_columns, name, value)
    searched(0)
    assert least <= len(begun) <= most


@pytest.mark.parametrize("seed", range(2))
def test_trees_that_leave_much_open_go_on(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NODES", "NODES_MIN", "NODES_MAX"):
        monkeypatch.setattr(trees, name, 1)
    lowered = lower(odd(seed, objects=60))
    model = lowered.at(1, (0.0,))
    phases = Phases(lowered, model, WITHOUT, 0, Clock(math.inf), ThreadPool())
    bounds, costs = [], []
    for more in (0, whole_columns.MORE):
        monkeypatch.setattr(whole_columns, "MORE", more)
        monkeypatch.setattr(whole_columns, "MORE_LAST", 4 * more)
        found = search_whole_columns(
            lowered,
            model,
            model,
            phases.shares,
            relax(lowered, model),
            lowered.held,
            pool=phases.pool,
            time_s_max=math.inf,
        )
        assert found.counts is not None
        bounds.append(found.relaxation.bound)
        costs.append(model.objective(lowered.point_of(found.counts)))
    assert max(bounds) <= min(costs) + 1e-4
    assert bounds[1] > bounds[0] + 0.05


def together(limits: PortfolioLimits, seed: int = 3) -> tuple[Joint, Lowered]:
    lowered = lower(scarce(seed))
    found = search_together(lowered, 0.0, lowered.held, limits, 0, Clock(600.0), lambda _: None, ThreadPool())
    assert found is not None
    return found, lowered


@pytest.mark.parametrize(
    "limits",
    [
        PortfolioLimits(exact_columns_max=0, whole_bound=False),
        PortfolioLimits(exact_columns_max=0, neighbourhoods_max=5),
    ],
)
def test_a_caller_that_wants_little_work_gets_no_columns(
    limits: PortfolioLimits, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = list[int]()
    search = search_whole_columns
    monkeypatch.setattr(
        joint_columns, "search_whole_columns", lambda *some, **named: begun.append(1) or search(*some, **named)
    )
    monkeypatch.setattr(joint_columns, "SCARCE", -1.0)
    together(limits)
    assert not begun
    joint, lowered = together(WITHOUT)
    assert begun
    values = lowered.values(lowered.point_of(joint.counts))
    assert joint.bound_of_sum <= values[1] + values[2] + 1e-4


def test_only_what_costs_far_more_than_the_bound_is_scarce() -> None:
    joint, lowered = together(WITHOUT)
    values = lowered.values(lowered.point_of(joint.counts))
    far = values[1] + values[2] - joint.bound_of_sum > joint_columns.SCARCE * joint.bound_of_sum
    assert joint_columns.is_scarce(joint, lowered.held), "nothing has an object yet"
    assert joint_columns.is_scarce(joint, joint.counts) == far
    proven = replace(joint, bound=values[1] + values[2])
    assert not joint_columns.is_scarce(proven, joint.counts)


@pytest.mark.parametrize("seed", range(6))
def test_with_columns_bounds_hold_and_the_first_goal_is_nearly_the_best(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = scarce(seed)
    exact = solve(problem, Limits(nodes_max=5_000), solver="mip")
    monkeypatch.setattr(joint_columns, "SCARCE", -1.0)
    found = solve(problem, Limits(exact_columns_max=0), solver="portfolio")
    assert found.bound[1] <= exact.objective[1][0] + 1e-4
    assert found.sum_bound <= sum(exact.objective[1]) + 1e-4
    assert found.objective[1][0] <= 1.02 * exact.objective[1][0] + 1e-6
