"""Test the portfolio's phases alone, and together against the exact solver."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from libs.assignment.language.arrays import Ints
from libs.assignment.language.errors import BadValues
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.matrices import csr
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.language.specs.balance import BalanceFormula, BalanceSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.group_count import GroupCountSpec
from libs.assignment.language.specs.group_diversity import GroupDiversitySpec
from libs.assignment.language.specs.limit import Bound, Limit
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.language.specs.single_group_failure_buffer import SingleGroupFailureBufferSpec
from libs.assignment.model.lower import lower
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.mip import solve_mip
from libs.assignment.solvers.portfolio import relaxing
from libs.assignment.solvers.portfolio.containers_of import shares_of
from libs.assignment.solvers.portfolio.neighbourhoods import Search
from libs.assignment.solvers.portfolio.phases import Phases
from libs.assignment.solvers.portfolio.relaxation import Relaxation, relax
from libs.assignment.solvers.portfolio.repair import is_broken, restored
from libs.assignment.solvers.portfolio.rounding import nested_family, round_counts
from libs.assignment.solvers.portfolio.solver import solve_portfolio
from libs.assignment.solvers.portfolio.submodel import restrict
from libs.assignment.solvers.portfolio.thread_pool import ThreadPool
from libs.assignment.solvers.portfolio.watch import Clock
from libs.assignment.solvers.settings import MipLimits, PortfolioLimits

PARTIES, HALLS = 6, 4
SEARCHED = PortfolioLimits(exact_columns_max=0)


def world(seed: int, objects: int = 90, *, begin: Ints | None = None) -> Problem:
    """Return objects of three kinds in four halls. Six parties that must survive a hall's loss want some of them.

    They begin at random, or as in `begin` (objects,).
    """
    rng = np.random.default_rng(seed)
    kind, hall = rng.integers(3, size=objects), rng.integers(HALLS, size=objects)
    initial = rng.integers(PARTIES + 1, size=objects)
    initial = initial if begin is None else begin
    problem = Problem(objects=objects, containers=PARTIES + 1, initial=initial)
    problem.add_scope("party", np.append(np.arange(PARTIES), -1), PARTIES)
    problem.add_partition("hall", hall, HALLS)
    problem.add_partition("kind", kind, 3)
    table = np.round(rng.uniform(0.5, 2.5, (3, PARTIES)), 1)
    problem.add_dimension("worth", 1.0, by_item=("party", kind, table))
    problem.add_dimension("bother", np.where(initial < PARTIES, rng.integers(1, 4, size=objects), 0))
    wanted = Limit(items=np.round(rng.uniform(0.3, 0.9, PARTIES) * objects / PARTIES, 1))
    buffer = SingleGroupFailureBufferSpec(scope="party", partition="hall", dimension="worth", limit=wanted)
    spread = GroupCountSpec(scope="party", partition="hall", dimension="worth", limit=Limit(default=3.0))
    problem.add_goal(buffer, weight=50.0, normalise=False)
    problem.add_goal(spread, weight=2.0, normalise=False)
    problem.add_goal(MinimizeMovementSpec(dimension="bother"), normalise=False)
    problem.add_constraint(
        AvoidAssignmentsSpec(scope="party", partition="kind", assignments=[(0, [1, 2])], flavour=Flavour.NEW)
    )
    return problem


def lowered_world(seed: int) -> tuple[Lowered, Phases]:
    lowered = lower(world(seed))
    return lowered, Phases(lowered, lowered.at(1, (0.0,)), SEARCHED, 0, Clock(600.0), ThreadPool())


@pytest.mark.parametrize("seed", range(20))
def test_of_a_nested_family_any_two_sets_are_nested_or_disjoint(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sets = rng.random((40, 12)) < rng.uniform(0.1, 0.6, (40, 1))
    family = [set(row.nonzero()[0].tolist()) for row in nested_family(csr(sets)).toarray()]
    assert all(a <= b or b <= a or not a & b for a in family for b in family)
    assert len({frozenset(one) for one in family}) == len(family)
    given = [set(row.nonzero()[0].tolist()) for row in sets]
    for one in given:
        fits = all(one <= other or other <= one or not one & other for other in family)
        assert len(one) < 2 or one in family or not fits, "what would fit in is there"


@pytest.mark.parametrize("seed", range(10))
def test_rounding_stays_within_floors_and_ceilings_of_every_sum(seed: int) -> None:
    lowered, phases = lowered_world(seed)
    f = relax(lowered, phases.model).fractional
    assert f is not None
    counts = round_counts(lowered, f, phases.shares.sink)
    hall = np.argmax(lowered.problem.partitions["hall"].matrix.toarray(), axis=0)[lowered.classes.representative]
    cell = lowered.container * HALLS + hall[lowered.kind]
    for key in (np.arange(len(f)), lowered.container, cell[lowered.container < PARTIES]):
        inside = np.arange(len(f)) if len(key) == len(f) else np.flatnonzero(lowered.container < PARTIES)
        whole, part = np.bincount(key, counts[inside]), np.bincount(key, f[inside])
        assert (whole >= np.floor(part - 1e-4)).all()
        assert (whole <= np.ceil(part + 1e-4)).all()
    assert (np.bincount(lowered.kind, counts) == lowered.classes.size).all()


def test_rounding_what_overbooks_is_legal() -> None:
    lowered, phases = lowered_world(1)
    most = lowered.model.upper[: len(lowered.kind)]
    counts = round_counts(lowered, most * np.random.default_rng(0).uniform(0, 2, len(most)), phases.shares.sink)
    assert (np.bincount(lowered.kind, counts) == lowered.classes.size).all()
    assert ((counts >= 0) & (counts <= most)).all()


def test_rounding_that_has_no_time_leaves_what_is_known() -> None:
    lowered, phases = lowered_world(3)
    relaxed = relax(lowered, phases.model)
    assert relaxed.fractional is not None
    assert round_counts(lowered, relaxed.fractional, phases.shares.sink, time_s_max=0.0) is None
    late = Clock(0.0)
    hurried = Phases(lowered, phases.model, SEARCHED, 0, late, ThreadPool())
    assert (hurried.start(relaxed, lowered.held, lowered.held) == lowered.held).all()
    assert late.timed_out


def test_whose_a_column_is_and_where_nothing_costs() -> None:
    lowered, phases = lowered_world(2)
    assert phases.shares.separable
    assert phases.shares.sink == PARTIES
    point = lowered.point_of(lowered.held)
    assert phases.shares.costs(phases.model.cost, point).sum() == pytest.approx(phases.model.objective(point))
    problem = world(2)
    problem.add_dimension("size", 1.0, containers=np.full(PARTIES + 1, 20.0))
    problem.add_goal(BalanceSpec(dimension="size"))
    joined = lower(problem)
    assert shares_of(joined, joined.levels[1].cost).sink == -1, "it costs something to leave an object out"


def test_rows_that_only_cut_off_fractions_hide_no_sink() -> None:
    """A later priority judges the sink too, at no cost for now. Its cuts have the same column as its rows."""
    problem = world(2)
    problem.add_dimension("size", np.where(np.arange(90) % 2, 1.0, 1.3))
    problem.add_goal(CapacitySpec(dimension="size", limit=Limit(default=0.7)), priority=1)
    lowered = lower(problem)
    assert lowered.stated < len(lowered.model.row_lower)
    assert shares_of(lowered, lowered.levels[1].cost).sink == PARTIES


@pytest.mark.parametrize("seed", range(5))
def test_excess_over_the_relaxation_adds_up_to_the_gap(seed: int) -> None:
    lowered, phases = lowered_world(seed)
    relaxation = relax(lowered, phases.model)
    search = Search(lowered, phases.model, phases.shares, relaxation, lowered.held, np.random.default_rng(0))
    gap = search.excess.sum() + search._idle_worth(search.free)
    assert gap == pytest.approx(search.total - relaxation.bound, rel=1e-3, abs=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_excess_adds_up_to_the_gap_where_cuts_cost(seed: int) -> None:
    """Every party needs less than one object, and pays for a thick hall. So its cost in fractions is that of cuts."""
    problem = world(seed, begin=np.full(90, PARTIES))
    problem.goals = []
    wanted = Limit(items=np.random.default_rng(seed).uniform(0.2, 0.9, PARTIES))
    buffer = SingleGroupFailureBufferSpec(scope="party", partition="hall", dimension="worth", limit=wanted)
    spread = GroupCountSpec(scope="party", partition="hall", dimension="worth", limit=Limit(default=0.2))
    problem.add_goal(buffer, weight=50.0, normalise=False)
    problem.add_goal(spread, weight=2.0, normalise=False)
    lowered = lower(problem)
    phases = Phases(lowered, lowered.at(1, (0.0,)), SEARCHED, 0, Clock(600.0), ThreadPool())
    relaxation = relax(lowered, phases.model)
    search = Search(lowered, phases.model, phases.shares, relaxation, lowered.held, np.random.default_rng(0))
    gap = search.excess.sum() + search._idle_worth(search.free)
    assert lowered.has_cuts
    assert gap == pytest.approx(search.total - relaxation.bound, rel=1e-3, abs=0.05)


def test_a_neighbourhood_that_is_expected_to_gain_too_little_is_not_tried() -> None:
    lowered, phases = lowered_world(0)
    relaxation = relax(lowered, phases.model)

    def tried(stall_gain: float) -> int:
        search = Search(lowered, phases.model, phases.shares, relaxation, lowered.held, np.random.default_rng(0))
        clock, stall = Clock(600.0), 3
        gain = stall_gain * stall * search.excess.max()
        search.run(ThreadPool(), 20, stall, gain, clock.stop, clock.time_left, lambda _: None)
        return search.solved

    assert tried(1.0) == 0
    assert tried(0.99) > 0


@pytest.mark.parametrize("seed", range(5))
def test_a_part_with_all_columns_free_is_the_whole(seed: int) -> None:
    lowered, phases = lowered_world(seed)
    x = lowered.point_of(lowered.held)
    model = phases.model
    whole = restrict(model, np.arange(len(x)), x, model.matrix @ x).model
    assert whole.violation(x) <= 1e-9
    assert whole.objective(x) + model.offset == pytest.approx(model.objective(x))
    some = np.flatnonzero(np.random.default_rng(seed).random(len(x)) < 0.3)
    part = restrict(model, some, x, model.matrix @ x)
    assert part.model.violation(x[some]) <= 1e-9
    moved = x.copy()
    moved[some] += 1.0
    broken = np.zeros(len(model.row_lower), bool)
    broken[part.rows] = True
    activity = model.matrix @ moved
    off = np.maximum(model.row_lower - activity, activity - model.row_upper)
    own = part.model.matrix @ moved[some]
    assert off[part.rows] == pytest.approx(np.maximum(part.model.row_lower - own, own - part.model.row_upper))
    assert (off[~broken] <= 1e-9).all()


@pytest.mark.parametrize("seed", range(5))
def test_neighbourhoods_only_go_down_and_lose_nobody(seed: int) -> None:
    lowered, phases = lowered_world(seed)
    relaxation = relax(lowered, phases.model)
    start = phases.start(relaxation, lowered.held, lowered.held)
    assert phases.cost(start) <= phases.cost(lowered.held)
    counts = phases.improve(relaxation, start, relaxation.bound)
    assert phases.tried > 0
    assert relaxation.bound - 1e-6 <= phases.cost(counts) <= phases.cost(start)
    assert (np.bincount(lowered.kind, counts) == lowered.classes.size).all()
    point = lowered.point_of(counts)
    assert not is_broken(phases.model, point)
    assert restored(lowered, phases.model, phases.shares, counts, lowered.held) is not counts
    assert (restored(lowered, phases.model, phases.shares, counts, lowered.held) == counts).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_small_problem_is_solved_to_the_optimum(seed: int) -> None:
    problem = world(seed, objects=24)
    found, exact = solve_portfolio(problem, PortfolioLimits(exact_gap=0.0, exact_nodes_max=5000)), solve_mip(problem)
    assert found.objective[1] == pytest.approx(exact.objective[1], rel=1e-4, abs=1e-4)
    assert found.broken[1] == 0
    assert found.stopped_by is StoppedBy.OPTIMAL


@pytest.mark.parametrize("seed", range(4))
def test_a_searched_problem_comes_close_to_the_optimum_and_says_how_close(seed: int) -> None:
    problem = world(seed)
    found, near = solve_portfolio(problem, SEARCHED), solve_mip(problem, MipLimits(relative_gap=0.03, nodes_max=200))
    assert found.bound[1] <= near.objective[1][0] + 1e-4
    assert near.bound[1] - 1e-4 <= found.objective[1][0] <= 1.05 * near.objective[1][0] + 2.0
    assert found.tries > 0 or found.stopped_by is StoppedBy.OPTIMAL


def test_it_repeats_itself_and_can_be_ended() -> None:
    problem = world(3, objects=50)
    first, again = (solve_portfolio(problem, SEARCHED, seed=5) for _ in range(2))
    assert (first.assignment == again.assignment).all()
    ended = solve_portfolio(problem, SEARCHED, cancelled=lambda: True)
    assert ended.stopped_by is StoppedBy.CANCELLED
    assert not ended.improved
    hurried = solve_portfolio(problem, PortfolioLimits(time_s_max=0.0))
    assert hurried.stopped_by is StoppedBy.TIME
    assert hurried.objective[1] == hurried.objective[0]


@pytest.mark.parametrize("seed", range(2))
def test_what_containers_share_is_searched_too_and_priorities_hold(seed: int) -> None:
    problem = world(seed, objects=50)
    problem.add_dimension("size", 1.0, containers=np.full(PARTIES + 1, 20.0))
    problem.add_goal(BalanceSpec(dimension="size"), priority=1)
    one = solve_portfolio(world(seed, objects=50), SEARCHED)
    both = solve_portfolio(problem, SEARCHED)
    assert both.objective[1][0] <= 1.01 * one.objective[1][0]
    assert both.objective[1][1] <= both.objective[0][1] or both.objective[1][0] < both.objective[0][0]
    assert all(low <= value + 1e-6 for low, value in zip(both.bound[1:], both.objective[1], strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_what_is_held_above_does_not_stop_what_is_below(seed: int) -> None:
    problem = world(seed, objects=60)
    problem.goals = [replace(goal, priority=int(k > 0)) for k, goal in enumerate(problem.goals)]
    found, exact = solve_portfolio(problem, SEARCHED), solve_mip(problem, MipLimits(nodes_max=300))
    assert found.objective[1][0] == pytest.approx(exact.objective[1][0], abs=1e-4)
    assert found.objective[1][1] <= 1.02 * exact.objective[1][1], "steps; neighbourhoods alone end at 1.09"


@pytest.mark.parametrize("seed", range(3))
def test_without_a_relaxation_there_is_still_a_good_answer(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = world(seed)
    whole = solve_portfolio(problem, SEARCHED)
    lowered = lower(problem)
    price, reduced = np.zeros(len(lowered.classes.size)), np.zeros(len(lowered.kind))
    nothing = Relaxation(fractional=None, price=price, reduced=reduced, point=None, bound=-np.inf, timed_out=True)
    monkeypatch.setattr(relaxing, "relax", lambda *_, **__: nothing)
    found = solve_portfolio(problem, replace(SEARCHED, neighbourhoods_max=0))
    assert found.stopped_by is StoppedBy.TIME
    assert 0.0 < found.bound[1] <= whole.objective[1][0], "the step from container to container gives one"
    assert found.objective[1][0] <= 1.1 * whole.objective[1][0]


def test_neighbourhoods_gather_what_single_steps_cannot() -> None:
    """Container 0 holds 4 objects of 2 groups. A group costs 50 and a move 10: each move alone only costs more."""
    groups, initial = np.arange(24) // 6 % 2, np.ones(24, np.int64)
    initial[[0, 1, 6, 7]] = 0
    problem = Problem(objects=24, containers=2, initial=initial)
    problem.add_partition("group", groups)
    problem.add_dimension("cost", np.where(initial == 0, 10.0, 0.0))
    first = Filter(items=[0])
    problem.add_constraint(CapacitySpec(dimension="count", bound=Bound.MIN, limit=Limit(default=4.0), filter=first))
    few = GroupDiversitySpec(partition="group", limit=Limit(default=1.0), bound=Bound.MAX, filter=first)
    problem.add_goal(few, weight=50.0, normalise=False)
    problem.add_goal(MinimizeMovementSpec(dimension="cost"), normalise=False)
    found = solve_portfolio(problem, SEARCHED)
    assert found.objective[1][0] == pytest.approx(20.0)
    assert len(set(groups[found.assignment == 0].tolist())) == 1


@pytest.mark.parametrize("seed", [1, 4, 6, 7])
def test_what_a_search_of_a_medium_problem_leaves_open_is_settled_by_branch_and_bound(seed: int) -> None:
    few = replace(SEARCHED, stall=1)
    searched = solve_portfolio(world(seed), few)
    assert searched.stopped_by is StoppedBy.WORK
    settled = solve_portfolio(world(seed), replace(few, exact_columns_max=1))
    assert settled.stopped_by is StoppedBy.OPTIMAL
    assert settled.bound[1] == pytest.approx(settled.objective[1][0], rel=1e-5)
    assert settled.objective[1][0] <= searched.objective[1][0] + 1e-9
    exact = solve_mip(world(seed), MipLimits(relative_gap=1e-6))
    assert settled.objective[1][0] == pytest.approx(exact.objective[1][0], rel=1e-5)
    limited = solve_portfolio(world(seed), replace(few, exact_columns_max=1, neighbourhoods_max=200))
    assert limited.stopped_by is StoppedBy.WORK, "no more work than the caller asks for"
    assert limited.objective == searched.objective


def test_it_says_where_counting_is_the_wrong_way() -> None:
    """All objects differ, so counting does not help. A proven best answer needs no warning."""
    rng = np.random.default_rng(9)
    problem = Problem(objects=30, containers=4, initial=rng.integers(4, size=30))
    problem.add_dimension("cpu", rng.uniform(1.0, 9.0, 30))
    problem.add_goal(BalanceSpec(dimension="cpu", formula=BalanceFormula.SQUARES))
    found = solve_portfolio(problem, SEARCHED)
    assert found.stopped_by is not StoppedBy.OPTIMAL
    assert any(note.startswith("30 objects are of 30 classes") for note in found.notes)
    assert "local search is likely to find better" in found.in_words()
    alike = Problem(objects=3, containers=2, initial=[0, 0, 0])
    alike.add_goal(BalanceSpec(dimension="count", formula=BalanceFormula.LINEAR))
    assert solve_portfolio(alike, SEARCHED).notes == ()


@pytest.mark.parametrize("field", ["time_s_max", "neighbourhoods_max", "stall_gain", "exact_columns_max", "exact_gap"])
@pytest.mark.parametrize("value", [-1, float("nan")])
def test_limits_must_make_sense(field: str, value: float) -> None:
    with pytest.raises(BadValues, match=f"{field} = {value}; expected 0 or more"):
        PortfolioLimits(**{field: value})


def test_a_stall_is_of_one_try_at_least() -> None:
    with pytest.raises(BadValues, match="stall = 0; expected 1 or more"):
        PortfolioLimits(stall=0)


@pytest.mark.parametrize("limits", [SEARCHED, PortfolioLimits()])
def test_it_begins_at_a_better_start_and_never_at_a_worse_one(limits: PortfolioLimits) -> None:
    problem = world(5)
    good = solve_portfolio(problem, SEARCHED)
    kept = solve_portfolio(problem, replace(limits, time_s_max=0), start=good.assignment)
    assert np.array_equal(kept.assignment, good.assignment)
    held = solve_portfolio(problem, replace(limits, time_s_max=0), start=np.zeros(len(problem.objects), np.int64))
    assert np.array_equal(held.assignment, problem.initial)
    again = solve_portfolio(problem, limits, start=good.assignment)
    assert again.objective[1] <= good.objective[1]
