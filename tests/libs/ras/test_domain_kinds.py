"""Further kinds of domain: plans survive the loss of any one domain of each kind that a reservation names."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from libs.assignment import Limits
from libs.domain.domain_kind import UNPLACED, DomainKind
from libs.domain.domain_limits import LIMITS
from libs.domain.fleet import FREE
from libs.plan_check.check import check_plan
from libs.plan_check.regression import shortfall_rru, unmet_rru
from libs.ras.eligible_rru import most_surviving
from libs.ras.evaluate import coverage_of
from libs.ras.largest_possible import potential_of
from libs.ras.server_classes import places_of
from libs.ras.solve import plan_target_bindings
from libs.ras.statement import state_region
from tests.builders.enumerated import (
    EXACT,
    assert_mended_first,
    assert_not_worse_on_counts,
    assert_solved_to_the_optimum,
)
from tests.builders.random_region import random_region, region

SMALL = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
COLUMNS = pytest.mark.parametrize("columns", [0, 10_000])


def with_kinds(snapshot, rng, kinds=2, domains=3):
    """Return the snapshot with places of further kinds, drawn at random, and with reservations that name some."""
    S, R = len(snapshot.servers), len(snapshot.reservations)
    place = rng.integers(UNPLACED, domains, (kinds, S))
    other = region(
        servers=[(0, 0)] * S, capacity=[0.0] * R, domains=place, survives_loss_of=rng.random((R, kinds)) < 0.6
    )
    return replace(
        snapshot,
        topology=replace(snapshot.topology, kinds=other.topology.kinds),
        servers=replace(snapshot.servers, domain=other.servers.domain),
        reservations=replace(
            snapshot.reservations,
            survives_loss_of=other.reservations.survives_loss_of,
            domain_limits=other.reservations.domain_limits,
            rack_spread_limit=np.full(R, np.inf),
        ),
    )


@st.composite
def tiny(draw, servers_max=5):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return with_kinds(random_region(rng, int(rng.integers(0, servers_max + 1)), int(rng.integers(1, 3))), rng)


def left_after(snapshot, binding, r, lost):
    """Return the RRU of reservation `r` without the servers for which `lost` is True."""
    s = snapshot.servers
    return sum(
        snapshot.reservations.rru[r, s.hardware_type[i]]
        for i in range(len(s))
        if binding[i] == r and s.lasting[i] and not lost[i]
    )


def missing_by_definition(snapshot, binding, r):
    """Return what reservation `r` lacks after the worst loss of each kind that it must survive."""
    s, q = snapshot.servers, snapshot.reservations
    places = [snapshot.server_msb] if q.survives_msb_loss[r] else []
    places += [s.domain[:, j] for j in np.flatnonzero(q.survives_loss_of[r])]
    nothing = np.zeros(len(s), bool)
    worst = [min([left_after(snapshot, binding, r, of == d) for d in set(of.tolist())] or [0.0]) for of in places] or [
        left_after(snapshot, binding, r, nothing)
    ]
    return [max(0.0, q.capacity_rru[r] - left) for left in worst]


@SMALL
@given(tiny(servers_max=12), st.integers(0, 2**32 - 1))
def test_what_is_left_after_each_loss_follows_the_definition(snapshot, seed):
    R = len(snapshot.reservations)
    binding = np.random.default_rng(seed).integers(FREE, R, len(snapshot.servers)).astype(np.int32)
    missing = [missing_by_definition(snapshot, binding, r) for r in range(R)]
    covered = coverage_of(snapshot, binding)
    for found in (covered.shortfall, shortfall_rru(snapshot, binding)):
        assert found == pytest.approx([max(each) for each in missing])
    for found in (covered.unmet, unmet_rru(snapshot, binding)):
        assert found == pytest.approx([sum(each) for each in missing])


@SMALL
@given(tiny())
def test_tiny_regions_are_solved_to_the_optimum_of_all_assignments(snapshot):
    assert_solved_to_the_optimum(snapshot)


@SMALL
@given(tiny())
def test_tiny_regions_are_mended_first_and_none_is_left_worse_off(snapshot):
    assert_mended_first(snapshot)


@settings(SMALL, max_examples=8)
@given(st.integers(0, 2**32 - 1))
def test_larger_regions_are_solved_on_counts_too(seed):
    rng = np.random.default_rng(seed)
    snapshot = with_kinds(random_region(rng, 60, 4), rng, kinds=1)
    assert_not_worse_on_counts(snapshot)


@COLUMNS
def test_a_plan_survives_the_loss_of_any_msb_and_of_any_block(columns):
    # Three MSBs of 8 servers. The first block has servers of every MSB: without it, an MSB's loss is survived easily.
    servers = [(m, 0) for m in range(3) for _ in range(8)]
    block = [0 if k < 6 else 1 + m % 2 for m in range(3) for k in range(8)]
    snapshot = region(
        msb_datacenter=(0, 0, 0), servers=servers, capacity=[6], domains=[block], survives_loss_of=[[True]]
    )
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    assert check_plan(snapshot, found.plan) == []
    held = found.plan.target == 0
    for of in (snapshot.server_msb, np.array(block)):
        for lost in range(3):
            assert (held & (of != lost)).sum() >= 6
    assert [loss.kind for loss in snapshot.losses] == ["MSB", "kind_0"]


def test_servers_without_a_place_count_as_one_domain():
    servers = [(m, 0) for m in range(2) for _ in range(4)]
    block = [0, 0, UNPLACED, UNPLACED] * 2
    snapshot = region(
        msb_datacenter=(0, 0),
        servers=servers,
        capacity=[2],
        survives=[False],
        domains=[block],
        survives_loss_of=[[True]],
    )
    target = plan_target_bindings(snapshot, EXACT).plan.target
    held = np.flatnonzero(target == 0)
    assert sorted(np.array(block)[held].tolist()) == [UNPLACED, UNPLACED, 0, 0]
    assert coverage_of(snapshot, target).shortfall[0] == 0


def test_places_stay_apart_with_as_many_kinds_and_domains_as_a_region_may_have():
    servers = [(0, 0), (1, 0), (2, 0), (0, 0)]
    snapshot = region(servers=servers, capacity=[2], domains=[[0] * 4] * 8, survives_loss_of=[[True] * 8])
    kinds = tuple(
        DomainKind(name=f"kind_{j}", domains=np.array([f"{j}-{n}" for n in range(256)], object)) for j in range(8)
    )
    places = places_of(replace(snapshot, topology=replace(snapshot.topology, kinds=kinds)))
    assert places.of.tolist() == [0, 1, 2, 0], "of the MSBs 0, 1, 2 and 0: 256 ** 8 is 2 ** 64"


def test_kinds_that_no_reservation_names_change_no_plan():
    plain = random_region(np.random.default_rng(5), 200, 8)
    block = np.random.default_rng(6).integers(0, 4, (len(plain.servers), 1)).astype(np.int32)
    kinds = region(servers=[(0, 0)] * 4, domains=[[0, 1, 2, 3]]).topology.kinds
    labelled = replace(
        plain,
        topology=replace(plain.topology, kinds=kinds),
        servers=replace(plain.servers, domain=block),
        reservations=replace(
            plain.reservations,
            survives_loss_of=np.zeros((len(plain.reservations), 1), bool),
            domain_limits=np.full((len(plain.reservations), 3, len(LIMITS)), np.inf),
        ),
    )
    limits = Limits(neighbourhoods_max=20)
    one, other = plan_target_bindings(plain, limits), plan_target_bindings(labelled, limits)
    assert np.array_equal(one.plan.target, other.plan.target)
    assert one.report.size == other.report.size
    assert len(state_region(labelled).problem.goals) == len(state_region(plain).problem.goals)


@given(tiny())
@SMALL
def test_the_largest_possible_capacity_is_that_of_all_servers(snapshot):
    """By definition: the most over all sets of servers that one reservation could hold, each loss in turn."""
    s, q = snapshot.servers, snapshot.reservations
    up = replace(snapshot, servers=replace(s, available=np.ones(len(s), bool)))
    for r in range(len(q)):
        usable = [i for i in range(len(s)) if q.rru[r, s.hardware_type[i]] > 0 and not s.leaving[i]]
        found = []
        for held in itertools.chain.from_iterable(itertools.combinations(usable, n) for n in range(len(usable) + 1)):
            binding = np.full(len(s), FREE, np.int32)
            binding[list(held)] = r
            found.append(coverage_of(up, binding).surviving[r])
        potential = potential_of(snapshot, r)
        assert potential.surviving_rru == pytest.approx(max(found))
        assert potential.most_rru <= potential.surviving_rru
        assert most_surviving(snapshot, np.array([r]))[0] == pytest.approx(max(found))
