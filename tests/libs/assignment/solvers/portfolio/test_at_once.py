"""A relaxation begins beside mending, and bounds are computed beside neighbourhoods."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from libs.assignment import solve
from libs.assignment.language.arrays import Ints
from libs.assignment.solvers.portfolio import alone as alone_module
from libs.assignment.solvers.portfolio import relaxing
from libs.assignment.solvers.portfolio import unpaid as unpaid_module
from libs.assignment.solvers.portfolio.neighbourhoods import Search
from libs.assignment.solvers.portfolio.relaxation import Relaxation, relax
from libs.assignment.solvers.portfolio.relaxing import Relaxing, Stepped, stepped
from libs.assignment.solvers.portfolio.steps import descent
from libs.assignment.solvers.portfolio.steps.descent import Walk
from libs.assignment.solvers.portfolio.subproblem import Answer, Subproblem
from libs.assignment.solvers.portfolio.subproblem_solver import solve_subproblem
from libs.assignment.solvers.portfolio.watch import Clock
from libs.assignment.solvers.portfolio.whole_bound import whole_bound
from tests.libs.assignment.solvers.portfolio.test_relaxation_by_container import SEARCHED, after_change
from tests.libs.assignment.solvers.portfolio.test_solver import PARTIES, lowered_world, world

WAIT_S = 60.0


class Later(Future[Answer]):
    """An answer that is found when it is asked for."""

    def __init__(self, solve: Callable[[], Answer]) -> None:
        super().__init__()
        self._solve = solve

    def result(self, timeout: float | None = None) -> Answer:
        return self._solve()


class Waiting:
    """A pool that solves a subproblem when its answer is asked for, and counts those that wait."""

    def __init__(self) -> None:
        self.submitted = self.most = self.waiting = 0

    def submit(self, one: Subproblem, cancelled: Callable[[], bool] | None = None) -> Future[Answer]:
        self.submitted, self.waiting = self.submitted + 1, self.waiting + 1
        self.most = max(self.most, self.waiting)

        def answer() -> Answer:
            self.waiting -= 1
            return solve_subproblem(one, cancelled)

        return Later(answer)


def told(ends: Callable[[], bool]) -> bool:
    """Wait until `ends` returns True, and return whether it did."""
    until = time.perf_counter() + WAIT_S
    while not ends() and time.perf_counter() < until:
        time.sleep(0.001)
    return ends()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of penalties that each whole relaxation left out, in the order in which they began."""
    left_out = list[int]()

    def recorded(*given: Any, **named: Any) -> Relaxation:
        left_out.append(int(named["left_out"].sum()))
        return relax(*given, **named)

    monkeypatch.setattr(relaxing, "relax", recorded)
    return left_out


def mended_and_relaxed(seed: int, asked: list[int]) -> tuple[Relaxation, Relaxation]:
    """Return the relaxation that began beside mending, and the one that begins after it."""
    lowered, phases = lowered_world(seed)

    def mend() -> Ints:
        assert told(lambda: bool(asked)), "it begins before mending ends"
        return phases.mended(lowered.held)

    mended, found = phases.mended_and_relaxed(phases.model, mend)
    beside = len(asked)
    after = phases.relax(phases.model, mended)
    assert len(asked) == beside + 1
    return found, after


@pytest.mark.parametrize("seed", range(3))
def test_the_relaxation_begins_while_steps_mend(seed: int, asked: list[int]) -> None:
    found, after = mended_and_relaxed(seed, asked)
    assert len(asked) == 2, "mending leaves no penalty, as was guessed, so nothing is relaxed again"
    assert found.bound == after.bound
    assert found.point is not None
    assert after.point is not None
    assert np.array_equal(found.point, after.point)


def test_a_wrong_guess_at_penalties_is_put_right(asked: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpaid_module, "DEAR", 0.1)  # so moves are penalties too, and mending pays some
    found, after = mended_and_relaxed(1, asked)
    assert len(asked) == 3
    assert asked[0] > asked[1] == asked[2]
    assert found.bound == after.bound


def test_a_relaxation_is_waited_for_if_mending_leaves_few_penalties(
    asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpaid_module, "DEAR", 0.1)
    monkeypatch.setattr(relaxing, "PAID_FEW", 1.0)
    found, after = mended_and_relaxed(1, asked)
    assert len(asked) == 2
    assert asked[0] > asked[1]
    assert found.bound == pytest.approx(after.bound)


def test_a_relaxation_that_is_not_needed_is_told_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = after_change(1, solve(world(1, 2_000), SEARCHED, solver="portfolio").assignment)
    over = threading.Event()

    def endless(lowered: Any, *_: object, cancelled: Callable[[], bool], **__: object) -> Relaxation:
        if told(cancelled):
            over.set()
        return Relaxation.unknown(lowered)

    monkeypatch.setattr(relaxing, "relax", endless)
    solve(changed, SEARCHED, solver="portfolio")
    assert over.is_set()


def test_a_step_begins_while_steps_mend_if_columns_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered, phases = lowered_world(1)
    after = phases.relax(phases.model, phases.mended(lowered.held))
    monkeypatch.setattr(relaxing, "is_by_columns", lambda *_: True)
    began, known = threading.Event(), list[Stepped]()

    def recorded(*given: Any) -> Stepped:
        began.set()
        known.append(stepped(*given))
        return known[-1]

    monkeypatch.setattr(relaxing, "stepped", recorded)

    def mend() -> Ints:
        assert began.wait(WAIT_S), "it begins before mending ends"
        return phases.mended(lowered.held)

    mended, found = phases.mended_and_relaxed(phases.model, mend)
    assert len(known) == 1, "columns go on from it"
    assert np.array_equal(known[0].alone.x, lowered.point_of(mended)), "later, these stay if the time is up"
    assert known[0].step.bound <= found.bound <= after.bound + 1e-6
    assert found.bound > known[0].step.bound


def test_a_step_that_is_late_is_told_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered, phases = lowered_world(1)
    monkeypatch.setattr(relaxing, "is_by_columns", lambda *_: True)
    monkeypatch.setattr(Relaxing, "_is_late", lambda *_: True)
    over = threading.Event()

    def endless(*given: Any) -> Stepped:
        if told(given[-1]):
            over.set()
        return stepped(*given)

    monkeypatch.setattr(relaxing, "stepped", endless)
    _, found = phases.mended_and_relaxed(phases.model, lambda: phases.mended(lowered.held))
    assert found.bound == -np.inf
    assert over.is_set()


def test_a_step_is_used_if_it_is_there_before_it_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered, phases = lowered_world(1)
    monkeypatch.setattr(relaxing, "is_by_columns", lambda *_: True)
    monkeypatch.setattr(Relaxing, "_is_late", lambda *_: True)
    clock = Clock(600.0)
    with relaxing.begun_ahead(lowered, phases.model, phases.shares, clock, phases.pool, None) as ahead:
        assert ahead.step is not None
        known = ahead.step.result().step
        found = phases._relaxed(phases.model, lowered.held, None, ahead)
    assert found.bound == known.bound


def test_a_container_that_is_late_keeps_its_mended_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered, phases = lowered_world(1)
    monkeypatch.setattr(relaxing, "is_by_columns", lambda *_: True)
    monkeypatch.setattr(alone_module, "CONTAINERS", 2)
    monkeypatch.setattr(relaxing, "COLUMNS_CHANGES", 1e18)  # the step is all that there is time for
    asked = count()

    def hurried(one: Subproblem, cancelled: Callable[[], bool] | None = None) -> Future[Answer]:
        return submit(replace(one, until=-np.inf) if next(asked) % 2 else one, cancelled)

    submit = phases.pool.submit
    monkeypatch.setattr(phases.pool, "submit", hurried)
    mended, found = phases.mended_and_relaxed(phases.model, lambda: phases.mended(lowered.held))
    begun, point = lowered.point_of(lowered.held), lowered.point_of(mended)
    assert found.timed_out
    assert found.raw is not None
    of_container = phases.shares.columns.toarray() > 0
    solved = [k for k in range(PARTIES) if not np.array_equal(found.raw[of_container[:, k]], point[of_container[:, k]])]
    late = ~of_container[:, solved].any(1)
    assert 0 < len(solved) < PARTIES
    assert np.array_equal(found.raw[late], point[late])
    assert not np.array_equal(begun[late], point[late]), "mending moved some of theirs"


def test_a_proof_ends_the_neighbourhoods(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered, phases = lowered_world(1)
    relaxation = relax(lowered, phases.model)
    asked, ended = list[Ints](), list[bool]()

    def until_stopped(search: Search, *given: Any) -> None:
        ended.append(told(given[4]))

    def proves(_: Ints, found: Callable[[], Ints], gap: float) -> bool:
        assert gap == phases.limits.exact_gap
        asked.append(found())
        return True

    monkeypatch.setattr(Search, "run", until_stopped)
    found = phases.improve(relaxation, lowered.held, relaxation.bound, proves)
    assert phases.proven
    assert ended == [True]
    assert phases.cost(found) == phases.cost(asked[0]), "the counts of the proof are the answer"


@pytest.mark.parametrize("near_gap", [0.0, 0.01])
@pytest.mark.parametrize("proven", [True, False])
def test_if_little_has_changed_neighbourhoods_wait_for_the_bound(
    near_gap: float, proven: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounds begin at once there, with the counts before the steps, and the gap of the caller is good enough."""
    lowered, phases = lowered_world(1)
    phases.limits = replace(phases.limits, near_gap=near_gap)
    relaxation = replace(relax(lowered, phases.model), is_near=True)
    events, waits = list[str](), near_gap > 0

    def proves(near: Ints, found: Callable[[], Ints], gap: float) -> bool:
        assert gap == max(near_gap, phases.limits.exact_gap)
        assert (phases.cost(found()) < phases.cost(near)) == waits
        events.append("bound")
        return proven

    monkeypatch.setattr(Search, "run", lambda *_: events.append("neighbourhoods"))
    phases.improve(relaxation, lowered.held, relaxation.bound, proves)
    assert phases.proven == proven
    if waits:
        assert events == (["bound"] if proven else ["bound", "neighbourhoods"])
    else:
        assert sorted(events) == ["bound", "neighbourhoods"]
    phases.improve(replace(relaxation, is_near=False), lowered.held, relaxation.bound, lambda *given: given[2] > 1e-4)
    assert not phases.proven, "much has changed"


def test_bounds_begin_beside_long_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descent, "EARLY", 0)
    monkeypatch.setattr(descent, "EARLY_MIN", 1)
    monkeypatch.setattr(descent, "TRIES", 1)
    lowered, phases = lowered_world(1)
    relaxation = relax(lowered, phases.model)
    costs, last = list[float](), threading.Event()

    def proves(near: Ints, found: Callable[[], Ints], _: float) -> bool:
        costs.append(phases.cost(near))
        assert not last.is_set(), "the last steps wait for it in this test"
        last.set()
        costs.append(phases.cost(found()))
        return False

    def down(walk: Walk, *given: Any, early: Callable[[Ints], None] | None = None, **named: Any) -> Ints:
        def waited(counts: Ints) -> None:
            assert early is not None
            early(counts)
            assert last.wait(WAIT_S)

        return steps_down(walk, *given, early=waited if early else None, **named)

    steps_down = Walk.down
    monkeypatch.setattr(Walk, "down", down)
    found = phases.improve(relaxation, lowered.held, relaxation.bound, proves)
    assert costs[0] > costs[1] >= phases.cost(found)


def test_an_error_in_steps_ends_the_wait_for_their_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered, phases = lowered_world(1)
    relaxation = relax(lowered, phases.model)

    def fails(*_: object, **__: object) -> Ints:
        raise MemoryError

    monkeypatch.setattr(Walk, "down", fails)
    with pytest.raises(MemoryError):
        phases.improve(relaxation, lowered.held, relaxation.bound, lambda near, found: bool(len(found())))


def test_the_kernels_of_steps_load_only_with_the_first_steps() -> None:
    loads = "from libs.assignment import load_solver; load_solver('portfolio'); show()"
    imports = "import libs.assignment.solvers.portfolio.solver; show()"
    shown = "import sys\ndef show(): print('numba' in sys.modules)\n"
    for code, loaded in ((imports, "False"), (loads, "True")):
        done = subprocess.run([sys.executable, "-c", shown + code], check=True, capture_output=True, text=True)
        assert done.stdout.strip() == loaded


def test_trees_for_bounds_leave_room_for_neighbourhoods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    lowered, phases = lowered_world(1)
    relaxation = relax(lowered, phases.model)
    assert relaxation.rows is not None
    pool = Waiting()
    found = whole_bound(
        lowered, phases.model, phases.shares, relaxation.rows, lowered.point_of(lowered.held), pool=pool, until=np.inf
    )
    assert found.bound >= relaxation.bound
    assert pool.submitted > pool.most == 4
