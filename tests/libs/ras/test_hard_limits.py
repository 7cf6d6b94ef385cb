"""Hard limits: the share of an MSB and the datacenters of a reservation hold in every plan."""

from dataclasses import replace

import numpy as np
import pytest

from libs.assignment import Limits
from libs.domain.domain_limits import DomainLimit
from libs.domain.fleet import FREE
from libs.domain.limited_kinds import limited_kinds
from libs.domain.policy import RegionPolicy
from libs.plan_check.check import check_plan
from libs.plan_check.hard_limits import above_share, excess, outside
from libs.ras.evaluate import coverage_of
from libs.ras.solve import plan_target_bindings
from tests.builders.random_region import random_region, region

COLUMNS = pytest.mark.parametrize("columns", [0, 10_000])


def solved(snapshot, columns):
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    assert check_plan(snapshot, found.plan) == []
    return found.plan.target


@COLUMNS
def test_no_msb_gets_more_than_its_share_though_the_capacity_is_short(columns):
    # Six MSBs of 10, but four hold nothing for r0: 2 * 0.25 * 12 is all that it may have.
    servers = [(m, int(m > 1)) for m in range(6) for _ in range(10)]
    snapshot = region(
        msb_datacenter=(0,) * 6,
        types=2,
        servers=servers,
        capacity=[12],
        rru=[[1.0, 0.0]],
        survives=[False],
        msb_share_max=[0.25],
    )
    target = solved(snapshot, columns)
    assert coverage_of(snapshot, target).by_msb[0].tolist() == [3, 3, 0, 0, 0, 0]
    soft = solved(
        replace(snapshot, reservations=replace(snapshot.reservations, msb_share_max=np.array([np.inf]))), columns
    )
    assert (soft >= 0).sum() == 12


@COLUMNS
def test_only_allowed_datacenters_are_used(columns):
    servers = [(m, 0) for m in range(4) for _ in range(4)]
    snapshot = region(
        msb_datacenter=(0, 0, 1, 1),
        servers=servers,
        capacity=[6, 4],
        survives=[False, False],
        allowed=[[False, True], [True, True]],
    )
    target = solved(snapshot, columns)
    held = np.flatnonzero(target == 0)
    assert len(held) == 6
    assert (snapshot.server_datacenter[held] == 1).all()
    assert (target == 1).sum() == 4


@COLUMNS
def test_servers_outside_are_exchanged_before_any_cost_and_kept_while_nothing_can_replace_them(columns):
    servers = [(0, 0, 0, True)] * 4 + [(2, 0, FREE)] * 3
    snapshot = region(
        msb_datacenter=(0, 0, 1), servers=servers, capacity=[4], survives=[False], allowed=[[False, True]]
    )
    target = solved(snapshot, columns)
    assert outside(snapshot, target).sum() == 1
    assert coverage_of(snapshot, target).shortfall.tolist() == [0]


@COLUMNS
def test_a_repair_of_a_limit_may_exceed_the_churn_budget(columns):
    servers = [(0, 0, 0, True)] * 4 + [(2, 0, FREE)] * 4
    snapshot = region(
        msb_datacenter=(0, 0, 1), servers=servers, capacity=[4], survives=[False], allowed=[[False, True]]
    )
    snapshot = replace(snapshot, churned=np.array([9]))
    assert not outside(snapshot, solved(snapshot, columns)).any()


@pytest.mark.parametrize("seed", range(6))
def test_on_random_regions_no_plan_breaks_a_limit_further(seed):
    rng = np.random.default_rng(seed)
    snapshot = random_region(rng, 60, 4, msbs=5)
    q = snapshot.reservations
    share = np.where(rng.random(4) < 0.6, rng.uniform(0.2, 0.6, 4), np.inf)
    allowed = rng.random((4, 2)) < 0.6
    allowed[~allowed.any(1)] = True
    snapshot = replace(snapshot, reservations=replace(q, msb_share_max=share, allowed=allowed))
    for columns in (0, 10_000):
        target = solved(snapshot, columns)
        assert excess(snapshot, target) <= excess(snapshot, snapshot.servers.target) + 1e-6


def test_the_check_names_what_breaks_a_limit():
    snapshot = region(
        msb_datacenter=(0, 1),
        servers=[(0, 0), (1, 0), (1, 0)],
        capacity=[2],
        survives=[False],
        msb_share_max=[0.5],
        allowed=[[False, True]],
    )
    found = plan_target_bindings(snapshot).plan
    bad = replace(found, target=np.zeros(3, np.int32))
    reasons = sorted(one.reason for one in check_plan(snapshot, bad))
    assert reasons == ["DatacenterNotAllowed", "MsbShareExceeded"]
    (by_msb,) = limited_kinds(snapshot)
    assert above_share(snapshot, by_msb, bad.target).tolist() == [[0, 1]]


@COLUMNS
@pytest.mark.parametrize("limit", ["msb_share_max", "msb", "datacenter", "kind_0"])
def test_a_limit_on_the_only_domain_that_must_stay_broken_leaves_the_phase_of_racks_its_work(columns, limit):
    # The promise of r0 comes before its limit. Its servers are in one of two racks, and their moves cost less.
    shares = {"msb_share_max": [0.5]} if limit == "msb_share_max" else {}
    snapshot = region(
        msb_datacenter=(0,),
        racks_per_msb=2,
        servers=[*[(0, 0, 0)] * 4, *[(1, 0)] * 4],
        capacity=[4.0],
        survives=[False],
        rack_limit=[0.5],
        domains=[[0] * 8],
        limits=None if shares else [[DomainLimit(kind=limit, share_max=0.5, servers_max=2)]],
        policy=RegionPolicy(surplus_cost=0.0),
        **shares,
    )
    target = solved(snapshot, columns)
    assert np.bincount(snapshot.servers.rack[target == 0]).tolist() == [2, 2]
    assert excess(snapshot, target) == pytest.approx(excess(snapshot, snapshot.servers.target))
