"""The relaxation in parts is feasible, improves with each round, and its bound is valid."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from libs.assignment.language.specs.balance import BalanceSpec
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.model.lower import lower
from libs.assignment.solvers.portfolio import relaxation_in_parts as parted
from libs.assignment.solvers.portfolio.containers_of import shares_of
from libs.assignment.solvers.portfolio.relaxation import relax
from libs.assignment.solvers.portfolio.relaxation_in_parts import PartedRelaxation, in_parts, relax_in_parts
from libs.assignment.solvers.portfolio.solver import solve_portfolio
from libs.assignment.solvers.portfolio.supply_prices import with_supply
from libs.assignment.solvers.portfolio.thread_pool import ThreadPool
from libs.mip.bound import bound_from_prices, usable_prices
from tests.libs.assignment.solvers.portfolio.test_solver import SEARCHED, lowered_world, world


@pytest.mark.parametrize("seed", range(4))
def test_each_round_is_feasible_and_no_worse_and_the_bound_holds(seed: int) -> None:
    lowered, phases = lowered_world(seed)
    model, whole = phases.model, relax(lowered, phases.model)
    values = [model.objective(lowered.point_of(lowered.held))]
    for merged in ((1,), (1, 1), (1, 1, 2)):
        found = PartedRelaxation(lowered, model, phases.shares, 3, begin=lowered.held, pool=ThreadPool()).run(
            seed, merged
        )
        assert found.point is not None
        assert found.fractional is not None
        assert model.violation(found.point) < 1e-5
        assert np.bincount(lowered.kind, found.fractional) == pytest.approx(lowered.classes.size)
        values.append(model.objective(found.point))
        assert whole.bound - 1e-4 <= values[-1] <= values[-2] + 1e-4
        assert whole.point is not None
        assert -np.inf < found.bound <= model.objective(whole.point) + 1e-4
    assert values[1] < values[0]


def test_one_part_is_the_whole() -> None:
    lowered, phases = lowered_world(1)
    whole = relax(lowered, phases.model)
    found = relax_in_parts(lowered, phases.model, phases.shares, parts=1, begin=lowered.held, pool=ThreadPool())
    assert found.point is not None
    assert whole.point is not None
    assert phases.model.objective(found.point) == pytest.approx(phases.model.objective(whole.point), rel=1e-4)
    assert found.bound == pytest.approx(whole.bound, rel=1e-3)


def test_parts_without_time_keep_what_was_mended() -> None:
    lowered, phases = lowered_world(1)
    mended = phases.mended(lowered.held)
    assert phases.cost(mended) < phases.cost(lowered.held)
    found = relax_in_parts(lowered, phases.model, phases.shares, 0.0, parts=2, begin=mended, pool=ThreadPool())
    assert found.fractional is not None
    assert found.fractional == pytest.approx(mended)
    assert found.bound == -np.inf


@pytest.mark.parametrize("seed", range(4))
def test_a_clock_that_ends_rounds_leaves_a_bound(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lowered, phases = lowered_world(seed)
    monkeypatch.setattr(parted, "PATIENCE", np.inf)  # so only the first round begins
    found = relax_in_parts(
        lowered, phases.model, phases.shares, 3600.0, parts=3, begin=lowered.held, pool=ThreadPool(), seed=seed
    )
    whole = relax(lowered, phases.model)
    assert found.timed_out
    assert -np.inf < found.bound <= whole.bound + 1e-4
    assert found.rows is not None
    assert found.bound == bound_from_prices(phases.model, found.rows)


@pytest.mark.parametrize("seed", range(4))
def test_containers_priced_alike_bound_more(seed: int) -> None:
    lowered, phases = lowered_world(seed)
    model, whole = phases.model, relax(lowered, phases.model)
    parts = PartedRelaxation(lowered, model, phases.shares, 3, begin=lowered.held, pool=ThreadPool())
    found = parts.run(seed, (1,))
    assert found.raised(lambda: True).bound == found.bound, "ended before any work"
    raised = found.raised(lambda: False)
    assert raised.rows is not None
    assert raised.bound == bound_from_prices(model, raised.rows)
    assert found.bound <= raised.bound <= whole.bound + 1e-4
    assert raised.bound > found.bound or seed == 0, "in that one the parts agree already"
    assert raised.raised(lambda: False) is raised, "it is done once"


def test_a_round_that_would_take_too_long_has_smaller_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered, phases = lowered_world(0)
    now, rounds = [0.0], []
    monkeypatch.setattr(parted, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def took(self: PartedRelaxation, rng: np.random.Generator, parts: int) -> None:
        rounds.append(parts)
        now[0] += 10.0 * 10 / parts  # the time of a round grows with the size of its parts

    monkeypatch.setattr(PartedRelaxation, "_round", took)
    parts = PartedRelaxation(lowered, phases.model, phases.shares, 10, 80.0, begin=lowered.held, pool=ThreadPool())
    assert parts.run(0, (1, 2, 5)).timed_out
    assert rounds == [10, 5, 5], "a third round of 50 s does not fit in what is left, and one of 20 s does"


@pytest.mark.parametrize("seed", range(4))
def test_no_other_prices_of_supply_bound_more(seed: int) -> None:
    lowered, phases = lowered_world(seed)
    model, rng = phases.model, np.random.default_rng(seed)
    whole = relax(lowered, model)
    assert whole.rows is not None
    best = with_supply(lowered, model, whole.rows)
    bound = bound_from_prices(model, best)
    assert bound >= bound_from_prices(model, whole.rows) - 1e-6
    first_own = len(lowered.classes.size) + len(lowered.leaving.held)
    assert (best[first_own:] == usable_prices(model, whole.rows)[first_own:]).all()
    for _ in range(50):
        other = best.copy()
        other[:first_own] += rng.normal(0.0, 1.0, first_own)
        assert bound_from_prices(model, other) <= bound + 1e-6


def test_what_containers_share_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parted, "WHOLE_COUNTS", 0)
    monkeypatch.setattr(parted, "PART_COUNTS", 10)
    lowered, phases = lowered_world(1)
    assert in_parts(lowered, phases.model, phases.shares) > 2
    second = world(1)
    second.add_goal(MinimizeMovementSpec(), priority=1)
    ranked = lower(second)
    shares = shares_of(ranked, ranked.levels[1].cost)
    assert in_parts(ranked, ranked.at(1, [0.0]), shares) > 2
    assert in_parts(ranked, ranked.at(2, [0.0, 1e6]), shares) == 1, "all containers share what the first goal came to"
    problem = world(1)
    problem.add_dimension("size", 1.0, containers=np.full(len(problem.containers), 20.0))
    problem.add_goal(BalanceSpec(dimension="size"))
    joined = lower(problem)
    assert in_parts(joined, joined.model, shares_of(joined, joined.levels[1].cost)) == 1


def test_a_search_from_parts_comes_as_close(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = solve_portfolio(world(2), SEARCHED)
    monkeypatch.setattr(parted, "WHOLE_COUNTS", 0)
    monkeypatch.setattr(parted, "PART_COUNTS", 30)
    cut = solve_portfolio(world(2), SEARCHED)
    assert cut.objective[1][0] <= 1.05 * whole.objective[1][0] + 2.0
    assert -np.inf < cut.bound[1] <= whole.objective[1][0]
