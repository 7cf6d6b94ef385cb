"""Check that rows and bounds from rounding cut off fractions, and no whole numbers."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from libs.mip.highs import Limits, solve_lp, solve_mip
from libs.mip.model import Mip, Model
from libs.mip.rounding_cuts import with_rounding_cuts

EXACT = Limits(relative_gap=0.0)


def thin(groups: int = 36, types: int = 3, need: float = 14.0, share: float = 0.06) -> Model:
    """Return a container that needs `need` in spite of the loss of its largest group, and pays for thick groups.

    The largest group costs 5 for each unit, and what a group has above `share` of the need costs 2.
    """
    m, size = Mip(), np.linspace(1.0, 1.2, types)
    counts = m.add_columns(groups * types, upper=8.0, integer=True)
    largest = m.add_columns(1, cost=5.0, upper=100.0)
    excess = m.add_columns(groups, cost=2.0, upper=100.0)
    for g in range(groups):
        mine = counts[g * types : (g + 1) * types]
        row = np.zeros(types, int)
        m.add_rows(1, (row, mine, -size), (0, largest, 1.0), lower=0.0)
        m.add_rows(1, (row, mine, -size), (0, excess[g], 1.0), lower=-share * need)
    m.add_rows(1, (np.zeros(len(counts), int), counts, np.tile(size, groups)), (0, largest, -1.0), lower=need)
    return m.build()


def mixed(seed: int) -> Model:
    """Return a program with rows of all signs, both sides and several continuous columns."""
    rng, m = np.random.default_rng(seed), Mip()
    counts = m.add_columns(
        5, cost=rng.uniform(-1, 2, 5), lower=rng.integers(-1, 2, 5).astype(float), upper=4.0, integer=True
    )
    others = m.add_columns(4, cost=rng.uniform(0.2, 3, 4), lower=rng.choice([0.0, 0.3], 4), upper=rng.uniform(3, 20, 4))
    columns = np.concatenate([counts, others])
    for _ in range(6):
        some = rng.choice(columns, rng.integers(2, 8), replace=False)
        weight = rng.choice([-1.7, -1.2, -1.0, -0.5, 0.5, 1.0, 1.1, 1.3], len(some))
        lower, upper = rng.choice([-np.inf, -2.5, -0.7, 0.0]), rng.choice([np.inf, 1.4, 4.0])
        m.add_rows(1, (np.zeros(len(some), int), some, weight), lower=lower, upper=upper)
    for y in others[:2]:
        for group in np.array_split(counts, 2):
            m.add_rows(1, (np.zeros(len(group), int), group, -1.0), (0, y, 1.0), lower=0.0)
    m.add_rows(1, (np.zeros(5, int), counts, 1.0), (np.zeros(2, int), others[:2], [-1.0, 0.5]), lower=rng.uniform(0, 3))
    return m.build()


def test_a_few_objects_in_many_groups_are_bounded_without_a_tree() -> None:
    """The relaxation takes a slice of each group. Whole objects are in some group, and above its share."""
    model = thin()
    best = solve_mip(with_rounding_cuts(model), EXACT).objective
    assert solve_lp(model).objective < 0.25 * best
    assert solve_lp(with_rounding_cuts(model)).objective > 0.95 * best


@pytest.mark.parametrize("groups", [3, 4, 6])
@pytest.mark.parametrize("need", [0.4, 1.0, 3.7, 9.0])
def test_the_best_whole_numbers_stay(groups: int, need: float) -> None:
    model = thin(groups, 2, need, 0.25)
    cut = with_rounding_cuts(model)
    best = solve_mip(model, EXACT)
    assert best.x is not None
    assert cut.violation(best.x) <= 1e-6
    assert solve_mip(cut, EXACT).objective == pytest.approx(best.objective, abs=1e-5)
    assert solve_lp(cut).objective >= solve_lp(model).objective - 1e-6


@pytest.mark.parametrize("seed", range(120))
def test_any_signs_and_sides_keep_every_direction_of_whole_numbers(seed: int) -> None:
    """The cheapest whole point stays the cheapest, for several costs. So no vertex of their hull is cut off."""
    model, rng = mixed(seed), np.random.default_rng(seed)
    for _ in range(4):
        priced = replace(model, cost=rng.uniform(-1, 2, len(model.cost)))
        best, cut = solve_mip(priced, EXACT), with_rounding_cuts(priced)
        if best.infeasible:
            continue
        assert best.x is not None
        assert cut.violation(best.x) <= 1e-6
        assert solve_mip(cut, EXACT).objective == pytest.approx(best.objective, abs=1e-5)


def test_a_group_smaller_than_its_members_say_is_no_bound() -> None:
    """A count that weighs more in the need than in its group could fill the need in a small group."""
    m = Mip()
    counts = m.add_columns(2, cost=1.0, upper=9.0, integer=True)
    largest = m.add_columns(1, cost=1.0, upper=50.0)
    for one in counts:
        m.add_rows(1, (0, one, -0.5), (0, largest, 1.0), lower=0.0)
    m.add_rows(1, (np.zeros(2, int), counts, 2.0), (0, largest, -1.0), lower=3.0)
    model = m.build()
    assert with_rounding_cuts(model).lower.tolist() == model.lower.tolist()


@pytest.mark.parametrize("seed", range(20))
def test_terms_of_thousands_of_millions_may_cancel(seed: int) -> None:
    """Memory in bytes: an excess is exactly the difference of large sums, and the cut's own sums round."""
    rng, m = np.random.default_rng(seed), Mip()
    size = rng.uniform(1e9, 1e11, 3)
    counts = m.add_columns(3, upper=5.0, integer=True)
    excess = m.add_columns(1, upper=1e13)
    limit = rng.uniform(0.1, 0.9) * size.max()
    m.add_rows(1, (np.zeros(3, int), counts, -size), (0, excess, 1.0), lower=-limit)
    cut = with_rounding_cuts(m.build())
    for k in itertools.product(range(6), repeat=3):
        activity = cut.matrix @ np.append(k, max(float((k * size).sum()) - limit, 0.0))
        assert (activity >= cut.row_lower - 1e-10 * np.maximum(1.0, np.abs(activity))).all()


def short(size: list[float], need: float, per_group: int, t: float = 1.0) -> Model:
    """Return a container that needs `need` beside t times its largest group, and pays for what it is short of.

    per_group  consecutive objects in one group
    """
    m, number = Mip(), len(size)
    counts = m.add_columns(number, cost=0.3, upper=2.0, integer=True)
    largest, lacks = m.add_columns(1, upper=100.0), m.add_columns(1, cost=1.0, upper=need)
    for g in range(0, number, per_group):
        mine = counts[g : g + per_group]
        m.add_rows(
            1, (np.zeros(len(mine), int), mine, -np.array(size[g : g + per_group])), (0, largest, 1.0), lower=0.0
        )
    m.add_rows(1, (np.zeros(number, int), counts, size), (0, largest, -t), (0, lacks, 1.0), lower=need)
    return m.build()


def test_half_an_object_in_spite_of_a_loss_takes_two_objects_or_is_short() -> None:
    """Two objects cost more than what is short without them, so none is worth it, and no part of one either."""
    model = short([1.0] * 12, 0.5, 1)
    assert solve_lp(model).objective < 0.2
    assert solve_lp(with_rounding_cuts(model)).objective == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("seed", range(60))
def test_what_the_largest_object_leaves_keeps_all_whole_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = rng.choice([0.4, 0.5, 0.9, 1.0, 1.3, 2.1], 6).tolist()
    need, t = float(rng.choice([0.3, 0.5, 1.0, 1.7, 3.1])), float(rng.choice([1.0, 0.5, 1.4]))
    model = short(size, need, int(rng.choice([1, 2, 3])), t)
    cut, G = with_rounding_cuts(model), model.matrix.shape[0] - 1
    for k in itertools.product(range(3), repeat=6):
        objects = np.array(k, float)
        largest = max(0.0, *(-(model.matrix[:G, :6] @ objects)))
        lacks = min(max(need - float(size @ objects) + t * largest, 0.0), need)
        point = np.concatenate([objects, [largest, lacks]])
        if model.violation(point) <= 1e-9:
            assert cut.violation(point) <= 1e-9


def test_a_group_whose_small_row_needs_little_is_no_group() -> None:
    """In units of 1e-10, the largest group may be 0.5 smaller than its objects. So two of them bring 1.5 without it."""
    m = Mip()
    counts = m.add_columns(2, cost=1.0, upper=2.0, integer=True)
    largest, lacks = m.add_columns(1, upper=9.0), m.add_columns(1, cost=9.0, upper=1.5)
    for one in counts:
        m.add_rows(1, (0, one, -1e-10), (0, largest, 1e-10), lower=-0.5e-10)
    m.add_rows(1, (np.zeros(2, int), counts, 1.0), (0, largest, -1.0), (0, lacks, 1.0), lower=1.5)
    model = m.build()
    point = np.array([1.0, 1.0, 0.5, 0.0])
    assert model.violation(point) == 0.0
    assert with_rounding_cuts(model).violation(point) <= 1e-9
