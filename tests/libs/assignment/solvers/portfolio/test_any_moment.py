"""A solve that ends at any moment has mended what it could, and its answer is not worse than staying."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from libs.assignment.language.arrays import Ints
from libs.assignment.solvers.portfolio import relaxation_by_columns, relaxing, unpaid
from libs.assignment.solvers.portfolio.alone import Alone
from libs.assignment.solvers.portfolio.phases import MEND_TRIES, POLISH_TRIES, WORTH, Phases
from libs.assignment.solvers.portfolio.relaxation import Relaxation
from libs.assignment.solvers.portfolio.relaxation_by_container import relax_by_container
from libs.assignment.solvers.portfolio.solver import solve_portfolio
from libs.assignment.solvers.portfolio.steps.descent import Guide, Walk
from libs.assignment.solvers.portfolio.thread_pool import ThreadPool
from libs.assignment.solvers.portfolio.unpaid import penalties
from libs.assignment.solvers.portfolio.watch import Clock
from tests.libs.assignment.solvers.portfolio.test_solver import SEARCHED, lowered_world, world


def after(questions: int) -> Callable[[], bool]:
    """Return a caller who ends the solve at a number of questions whether to end it."""
    asked = count()
    return lambda: next(asked) >= questions


@pytest.mark.parametrize("seed", range(2))
def test_whoever_ends_a_solve_gets_no_less_than_staying(seed: int) -> None:
    stayed = solve_portfolio(world(seed), SEARCHED, cancelled=after(0))
    assert not stayed.improved
    worst = stayed.objective[0][0]
    asked = (2, 8, 64, 512, 1024, 10**6)  # a relaxation beside the steps asks some hundreds of times
    values = [solve_portfolio(world(seed), SEARCHED, cancelled=after(k)).objective[1][0] for k in asked]
    assert all(value <= worst for value in values)
    assert values[-1] < worst


@pytest.mark.parametrize("seed", range(4))
def test_what_saves_most_is_mended_before_anything_is_polished(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lowered, phases = lowered_world(seed)
    work, down, held = [], Walk.down, lowered.held

    def recorded(walk: Walk, counts: Ints, least: float, guide: Guide, stop: Callable[[], bool], most: int) -> Ints:
        found = down(walk, counts, least, guide, stop, most)
        work.append((least, most, phases.cost(counts), phases.cost(found)))
        return found

    monkeypatch.setattr(Walk, "down", recorded)
    polished = phases.mended(held)
    (coarse, mending, begun, mended), (fine, polishing, _, ended) = work
    assert begun == phases.cost(held)
    assert begun - mended >= coarse > fine, "every step that mends saves more than the least that polishes"
    assert ended <= mended
    assert phases.cost(polished) == ended
    assert (mending, polishing) == (MEND_TRIES * len(held), POLISH_TRIES * len(held)), "work ends them, and no clock"


def test_mending_visits_those_who_pay_penalties_and_polishing_all(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered, phases = lowered_world(2)
    guides, down = list[Guide](), Walk.down

    def recorded(walk: Walk, counts: Ints, least: float, guide: Guide, *given: Any) -> Ints:
        guides.append(guide)
        return down(walk, counts, least, guide, *given)

    monkeypatch.setattr(Walk, "down", recorded)
    cost, held = phases.model.cost, lowered.point_of(lowered.held)
    for dear, visits in ((np.median(cost[cost > 0]), True), (math.inf, False)):
        monkeypatch.setattr(unpaid, "DEAR", dear / np.median(cost[cost > 0]))
        penalty = penalties(phases.model)
        assert penalty.any() == visits
        phases.mended(lowered.held)
        mends, polishes = (guide.at(held) for guide in guides[-2:])
        paid = phases.shares.costs(np.where(penalty, cost, 0.0) if visits else cost, held)
        everything = phases.shares.costs(cost, held)
        paid[phases.shares.sink] = everything[phases.shares.sink] = 0.0
        assert mends == pytest.approx(paid)
        assert polishes == pytest.approx(everything)


def test_relaxations_that_would_take_the_time_of_the_steps_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relaxation_by_columns, "COUNTS", 0)
    lowered, quick = lowered_world(2)
    mended = quick.mended(lowered.held)
    assert quick.relax(quick.model, mended).point is not None
    clock = Clock(600.0)
    slow = Phases(lowered, quick.stated, SEARCHED, 0, clock, ThreadPool())
    slow.mended(lowered.held)
    monkeypatch.setattr(relaxing, "COLUMNS_CHANGES", 1e18)
    left_out = slow.relax(slow.model, mended)
    assert left_out.point is None
    assert left_out.bound > 0, "the step from container to container bounds it"
    assert clock.timed_out, "the answer depends on the clock"
    monkeypatch.setattr(relaxing, "STEP_CHANGES", 1e18)
    assert slow.relax(slow.model, mended).rows is None, "no time for the step either"
    found = slow.improve(left_out, slow.start(left_out, lowered.held, mended), left_out.bound)
    assert slow.cost(found) <= slow.cost(mended)
    assert np.bincount(lowered.kind, found) == pytest.approx(lowered.classes.size)


def test_a_relaxation_out_of_time_still_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered, phases = lowered_world(2)
    mended = phases.mended(lowered.held)
    whole = phases.relax(phases.model, mended)
    alone = Alone(lowered, phases.model, phases.shares, lowered.point_of(mended), ThreadPool())
    step = relax_by_container(lowered, phases.model, alone)
    late = replace(Relaxation.unknown(lowered), timed_out=True)
    monkeypatch.setattr(relaxing, "relax", lambda *_, **__: late)
    found = phases.relax(phases.model, mended)
    assert 0 < found.bound == step.bound <= whole.bound + 1e-6
    assert found.rows is not None
    assert np.array_equal(found.rows, step.rows)


def test_steps_of_a_start_that_pays_penalties_go_on_by_the_cheapest_known(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered, phases = lowered_world(2)
    mended = phases.mended(lowered.held)
    asked, down = [], Walk.down

    def recorded(walk: Walk, counts: Ints, *arguments: Any, **named: Any) -> Ints:
        asked.append(named["worth"])
        return down(walk, counts, *arguments, **named)

    monkeypatch.setattr(Walk, "down", recorded)
    assert phases.cost(lowered.held) > phases.cost(mended)
    phases.improve(Relaxation.unknown(lowered), lowered.held, -np.inf)
    assert asked[0] == pytest.approx(WORTH * phases.cost(mended))
