import dataclasses
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from libs.domain.world import FluxPolicy
from libs.flux.program.placement import NoPlanError, plan_placement
from libs.flux.program.problem import joint_problem
from tests.builders.world import random_world


def solve(world, **changes):
    words, models, inputs = world
    inputs = dataclasses.replace(inputs, **changes)
    p = joint_problem(words, models, inputs)
    return p, plan_placement(p, inputs)


def appendix(p, growth):
    """Return the optimum of expressions 2 to 15 with growth (T, K, R) given, stated variable by variable."""
    T, P, R, H, S, K = p.shape
    e = p.policy
    cost, bounds, index = [], [], {}

    def var(name, price=0.0, low=0.0, high=None):
        index[name] = len(cost)
        cost.append(price)
        bounds.append((low, high))

    rows, upper, equal = [], [], []

    def add(entries, limit, kind):
        (equal if kind == "=" else upper).append(limit if kind != ">" else -limit)
        sign = -1.0 if kind == ">" else 1.0
        rows.append((kind, [(index[n], sign * a) for n, a in entries]))

    for t in range(T):
        for q in range(P):
            var(("big", t, q), e.e2_largest_region)
            for r in range(R):
                var(("x", t, q, r))
                var(("shift", t, q, r), e.e1_traffic_shift)
        for k in range(K):
            for r in range(R):
                var(("c", t, k, r))
                var(("freed", t, k, r))
        for s in range(S):
            for r in range(R):
                keep = bool(p.keeps[s])
                rho = p.rho[t, s, r]
                var(("r", t, s, r), 0.0, rho if keep else min(rho, 0.0), rho if keep else None)
                var(("abs", t, s, r), 0.0 if keep else e.e5_residual)
        for h in range(H):
            for r in range(R):
                var(("d", t, h, r), e.e3_deficit)
                var(("s", t, h, r))
                var(("o", t, h, r), e.e4_double_occupancy)
                var(("dev", t, h, r), e.e6_spare_balance)
    for t in range(T):
        for q in range(P):
            add([(("x", t, q, r), 1) for r in range(R)], p.traffic[t, q], "=")
            for r in range(R):
                add([(("x", t, q, r), 1), (("shift", t, q, r), -1)], p.xi[q, r], "<")
                add([(("x", t, q, r), 1), (("shift", t, q, r), 1)], p.xi[q, r], ">")
                add([(("x", t, q, r), 1), (("big", t, q), -1)], 0.0, "<")
        for s in range(S):
            mine = np.flatnonzero(p.service == s)
            add([(("c", t, k, r), p.ratio[k]) for k in mine for r in range(R)], p.total_min[t, s], ">")
            for r in range(R):
                served = [(("x", t, q, r), -p.phi[s, q]) for q in range(P)]
                add([*((("c", t, k, r), p.ratio[k]) for k in mine), *served, (("r", t, s, r), -1)], 0.0, "=")
                add([(("r", t, s, r), 1), (("abs", t, s, r), -1)], 0.0, "<")
                add([(("r", t, s, r), 1), (("abs", t, s, r), 1)], 0.0, ">")
        for k in range(K):
            for r in range(R):
                before = [(("c", t - 1, k, r), 1)] if t else []
                add([*before, (("c", t, k, r), -1), (("freed", t, k, r), -1)], 0.0 if t else -p.kappa[k, r], "<")
        for h in range(H):
            mine = np.flatnonzero(p.kind == h)
            part = p.supply[t, h] / p.supply[t, h].sum()
            for r in range(R):
                grown = growth[t, mine, r].sum()
                used = [(("c", t, k, r), 1) for k in mine]
                add([*used, (("s", t, h, r), 1), (("d", t, h, r), -1)], p.supply[t, h, r] - grown, "=")
                add([(("o", t, h, r), 1), *((("freed", t, k, r), -1) for k in mine)], 0.0, "=")
                add([(("s", t, h, r), 1), (("o", t, h, r), -1)], -grown, ">")
                for sign in (1, -1):
                    even = [(("s", t, h, q), -sign * part[r]) for q in range(R)]
                    add([*even, (("s", t, h, r), sign), (("dev", t, h, r), -1)], 0.0, "<")

    def matrix(kinds):
        chosen = [entries for kind, entries in rows if kind in kinds]
        coo = [(i, j, a) for i, entries in enumerate(chosen) for j, a in entries]
        i, j, a = zip(*coo, strict=True)
        return sp.csr_array((a, (i, j)), shape=(len(chosen), len(cost)))

    found = linprog(cost, A_ub=matrix("<>"), b_ub=upper, A_eq=matrix("="), b_eq=equal, bounds=bounds, method="highs-ds")
    assert found.status == 0
    return found.fun


@pytest.mark.parametrize("supply", [1.2, 0.97])  # with room, and short of hardware
@pytest.mark.parametrize("seed", range(6))
def test_the_plan_is_the_optimum_of_the_appendix_with_the_settled_shares(seed, supply):
    several = [(0, 0, 0.5), (0, 1, 1.5)][: seed % 3]
    p, solved = solve(random_world(seed, several=[x for x in several if seed != 5], supply=supply))
    assert solved.settled
    exact = appendix(p, solved.plan.growth)
    assert exact * (1 - 1e-6) <= solved.solution.objective <= exact * (1 + 1e-3)
    if not p.growth.any():
        assert solved.solution.objective == pytest.approx(exact, rel=1e-6)
    assert solved.joint.model.violation(solved.solution.x) < 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_growth_is_proportional_to_the_capacity_it_adds_to(seed):
    p, solved = solve(random_world(seed, services=12))
    own, total = p.own(solved.plan.capacity), p.own(solved.plan.capacity).sum(2)
    grown = p.own(solved.plan.growth)
    assert grown.sum(2) == pytest.approx(p.growth)
    assert grown == pytest.approx(p.growth[:, :, None] * own / total[:, :, None], abs=1e-6)
    assert solved.rounds == 1  # growth is proportional to known values, so one round is enough


def test_growth_gives_way_by_priority_before_any_baseline():
    words, models, inputs = random_world(2, types=1, services=4, supply=1.0)
    supply = np.tile(models.own_baseline(words).sum(0)[None, None] * 1.02, (2, 1, 1))
    growth = np.full((2, 4), 0.02 * models.capacity.sum())
    priority = np.tile([1.0, 2.0, 3.0, 3.0], (2, 1))
    tau = np.zeros_like(inputs.traffic_growth)
    _, solved = solve(
        (words, models, inputs), supply=supply, growth=growth, growth_priority=priority, traffic_growth=tau
    )
    assert solved.plan.deficit.max() < 1e-6
    granted = solved.plan.granted[0]
    assert 0.0 < granted.sum() < 4.0
    assert granted[2] == pytest.approx(1.0) or granted[0] == pytest.approx(0.0, abs=1e-9)
    assert all(a <= b + 1e-9 for a, b in pairwise(granted[:3]))
    _, full = solve((words, models, inputs), supply=supply, growth=growth, traffic_growth=tau)
    assert full.plan.deficit.sum() > 0.01  # without priorities all growth is granted, and hardware is missing


def test_limits_of_presence_and_capacity_hold():
    words, models, inputs = random_world(4)
    most = inputs.presence_max.copy()
    most[0, 0] = 0.9 * models.presence[0, 0]
    ceiling = inputs.controls.capacity_max.copy()
    ceiling[1, 2] = 0.95 * models.baseline[1, 2]
    held = dataclasses.replace(inputs.controls, capacity_max=ceiling, rebalance=np.ones(6, bool))
    p, solved = solve((words, models, inputs), presence_max=most, controls=held)
    assert (solved.plan.traffic[:, 0, 0] <= most[0, 0] * p.traffic[:, 0] + 1e-9).all()
    assert (solved.plan.capacity[:, 1, 2] <= ceiling[1, 2] + 1e-6).all()


def test_limits_that_nothing_can_meet_are_no_plan():
    words, models, inputs = random_world(4)
    with pytest.raises(NoPlanError):
        solve((words, models, inputs), presence_max=np.full_like(inputs.presence_max, 0.1))


def test_the_goals_that_are_off_by_default_act_when_they_are_named():
    words, models, inputs = random_world(1, steps=3)
    supply = inputs.supply.copy()
    supply[1, :, 0] *= 0.6  # the region is short only in the second step

    def turned(oscillation):
        _, solved = solve((words, models, inputs), supply=supply, policy=FluxPolicy(oscillation=oscillation))
        return np.abs(np.diff(solved.plan.traffic, axis=0)).sum()

    assert turned(50.0) < turned(0.0) - 1e-3
    _, plain = solve((words, models, inputs))
    _, careful = solve(
        (words, models, inputs), policy=FluxPolicy(executed_upsize_share=1.2, executed_downsize_share=0.7)
    )
    assert careful.solution.objective > plain.solution.objective
