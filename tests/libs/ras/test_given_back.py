"""Capacity above need goes back: after a shrink a reservation holds about what an independent bound needs."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from libs.assignment import Limits
from libs.domain.policy import RegionPolicy
from libs.domain.reservation import ReservationSpec
from libs.domain.what_if import with_reservation
from libs.plan_check.check import check_plan
from libs.ras.evaluate import coverage_of, evaluate, surplus_servers
from libs.ras.solve import plan_target_bindings
from libs.simulator.fleet import made_up_fleet
from tests.builders.random_region import region, retargeted

FEW = Limits(neighbourhoods_max=6)


def servers_bound(snapshot):
    """Return the fewest servers, in parts, with which each reservation keeps its promise; all share the region."""
    q, servers = snapshot.reservations, snapshot.servers
    R, T, M = len(q), len(snapshot.hardware_types), len(snapshot.topology.msbs)
    supply = np.zeros((M, T))
    np.add.at(supply, (snapshot.server_msb[servers.lasting], servers.hardware_type[servers.lasting]), 1)
    r, m, t = np.nonzero((q.rru > 0)[:, None, :] & (supply > 0)[None])
    n, v, every = len(r), q.rru[r, t], np.arange(R)
    here = sp.csr_matrix((np.ones(n), (m * T + t, np.arange(n))), (M * T, n + R))
    promise = sp.csr_matrix(
        (np.r_[-v, q.survives_msb_loss], (np.r_[r, every], np.r_[np.arange(n), n + every])), (R, n + R)
    )
    worst = sp.csr_matrix(
        (
            np.r_[v, -np.ones(R * M)],
            (np.r_[r * M + m, np.arange(R * M)], np.r_[np.arange(n), n + np.arange(R * M) // M]),
        ),
        (R * M, n + R),
    )
    found = linprog(
        np.r_[np.ones(n), np.zeros(R)],
        A_ub=sp.vstack([here, promise, worst]),
        b_ub=np.r_[supply.ravel(), -q.capacity_rru, np.zeros(R * M)],
        method="highs",
    )
    assert found.status == 0
    return np.bincount(r, found.x[:n], R)


def whole_servers_bound(snapshot):
    """Return the fewest whole servers with which each reservation keeps its promise if it has the region alone."""
    q, servers = snapshot.reservations, snapshot.servers
    supply = np.zeros((len(snapshot.topology.msbs), len(snapshot.hardware_types)))
    np.add.at(supply, (snapshot.server_msb[servers.lasting], servers.hardware_type[servers.lasting]), 1)
    fewest = []
    for r in range(len(q)):
        m, t = np.nonzero((supply > 0) & (q.rru[r] > 0))
        worth, n = q.rru[r, t], len(m)
        of_msb = np.zeros((len(supply), n + 1))
        of_msb[m, np.arange(n)], of_msb[:, n] = worth, -1.0
        rows = np.vstack([np.append(worth, -float(q.survives_msb_loss[r])), -of_msb])
        found = milp(
            np.append(np.ones(n), 0.0),
            constraints=LinearConstraint(rows, np.append(q.capacity_rru[r], np.zeros(len(supply))), np.inf),
            integrality=np.append(np.ones(n), 0),
            bounds=Bounds(0, np.append(supply[m, t], np.inf)),
        )
        assert found.status == 0
        fewest.append(round(found.fun))
    return np.array(fewest)


def settled_region(seed, *, servers=800, reservations=4, **policy):
    """Return a made-up region after a solve was carried out, with containers on 85 % of the bound servers."""
    random = np.random.default_rng([seed, 7])
    snapshot = made_up_fleet("west", servers=servers, seed=seed, policy=RegionPolicy(**policy)).snapshot
    for k in range(reservations):
        types = random.choice(snapshot.hardware_types, 4, replace=False)
        spec = ReservationSpec(
            capacity_rru=float(random.uniform(0.5, 1.0) * 0.6 * servers / reservations),
            rru={str(name): float(random.uniform(1.0, 2.0)) for name in types},
            msb_spread_limit=0.2,
            survives_msb_loss=k > 0,
        )
        snapshot, _ = with_reservation(snapshot, f"web-{k}", spec)
    snapshot = carried_out(snapshot)
    return replace(
        snapshot,
        servers=replace(snapshot.servers, in_use=(snapshot.servers.target >= 0) & (random.random(servers) < 0.85)),
    )


def carried_out(snapshot):
    plan = plan_target_bindings(snapshot, FEW, seed=1).plan
    assert check_plan(snapshot, plan) == []
    return retargeted(snapshot, plan.target)


def resized(snapshot, factor):
    q = snapshot.reservations
    return replace(snapshot, reservations=replace(q, capacity_rru=q.capacity_rru * factor))


def held(snapshot):
    return np.bincount(snapshot.servers.target[snapshot.servers.target >= 0], minlength=len(snapshot.reservations))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_after_shrinking_to_a_tenth_little_more_is_held_than_the_bound_needs(seed):
    one = np.ones(4)
    one[seed % 4] = 0.1
    small = resized(settled_region(seed), one)
    after, row = carried_out(small), seed % 4
    assert held(after)[row] <= max(1.15 * servers_bound(after)[row], np.ceil(servers_bound(after)[row]) + 1)
    assert not coverage_of(after, after.servers.target).shortfall.any()


@pytest.mark.parametrize("seed", [4])
def test_after_shrinking_all_to_a_tenth_little_more_is_held_than_the_bound_needs(seed):
    after = carried_out(resized(settled_region(seed), 0.1))
    assert held(after).sum() <= 1.15 * servers_bound(after).sum() + 4  # a part of a server each is a whole one
    assert held(after).sum() <= 1.1 * whole_servers_bound(after).sum()
    assert not coverage_of(after, after.servers.target).shortfall.any()


def test_a_returned_type_goes_back():
    snapshot = region(
        types=2,
        servers=[(m, t, 0, True) for m in range(3) for t in (0, 1) for _ in range(2)],
        capacity=[4],
        rru=[[1.0, 0.0]],
    )
    after = plan_target_bindings(snapshot).plan.target
    assert (after[snapshot.servers.hardware_type == 1] < 0).all()
    assert (after[snapshot.servers.hardware_type == 0] == 0).all()


def test_without_the_price_all_is_kept():
    snapshot = settled_region(1, surplus_cost=0.0)
    after = carried_out(resized(snapshot, 0.1))
    in_use = snapshot.servers.in_use
    assert (after.servers.target[in_use] >= 0).mean() > 0.9


def test_a_settled_region_is_left_alone():
    snapshot = carried_out(settled_region(1))
    again = plan_target_bindings(snapshot, FEW, seed=2).report.score
    assert again.moved_in_use <= 0.01 * snapshot.servers.in_use.sum()


def test_the_surplus_counts_buffers_and_useless_servers_and_none_that_are_down():
    snapshot = region(
        types=2,
        servers=[(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 1, 0), (1, 0, 0, False, False)],
        capacity=[4],
        rru=[[2.0, 0.0]],
    )
    target = snapshot.servers.target
    assert surplus_servers(snapshot, target).tolist() == [2.0]  # 4 lasting servers; two of 2 RRU could give 4
    assert evaluate(snapshot, target).surplus == 2 * snapshot.policy.surplus_cost
