"""Hard limits per kind of domain: locality, quorum and erasure spread hold in every plan (docs/designs/0054)."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from libs.assignment import Limits
from libs.domain.domain_kind import UNPLACED
from libs.domain.domain_limits import LIMITS, DomainLimit, limits_table
from libs.domain.fleet import FREE
from libs.plan_check.check import check_plan
from libs.plan_check.hard_limits import excess
from libs.plan_check.regression import check_regression
from libs.ras.evaluate import coverage_of
from libs.ras.largest_possible import potential_of
from libs.ras.solve import plan_target_bindings
from tests.builders.random_region import random_region, region
from tests.libs.ras.test_power import powered

COLUMNS = pytest.mark.parametrize("columns", [0, 10_000])
SMALL = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
BLOCKS = [s % 4 for s in range(24)]
THREE_MSBS = {"msb_datacenter": (0, 0, 1), "servers": [(m, 0) for m in range(3) for _ in range(8)], "domains": [BLOCKS]}


def within(kind="kind_0", domains=1):
    return [DomainLimit(kind=kind, domains_max=domains)]


def solved(snapshot, columns=10_000):
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    assert check_plan(snapshot, found.plan) == []
    return found.plan.target


def held_in(snapshot, target, r, kind="kind_0"):
    """Return the servers of a reservation by domain, counted one by one."""
    of = snapshot.server_msb if kind == "msb" else snapshot.servers.domain[:, 0]
    counts = {}
    for row in np.flatnonzero((target == r) & snapshot.servers.lasting):
        counts[int(of[row])] = counts.get(int(of[row]), 0) + 1
    return counts


@COLUMNS
def test_a_reservation_lies_in_one_domain_and_survives_the_loss_of_an_msb_there(columns):
    snapshot = region(**THREE_MSBS, capacity=[4, 4], limits=[within(), within()])
    target = solved(snapshot, columns)
    assert coverage_of(snapshot, target).shortfall.tolist() == [0, 0]
    assert [len(held_in(snapshot, target, r)) for r in range(2)] == [1, 1]


@COLUMNS
def test_what_one_domain_cannot_give_takes_two_and_no_more(columns):
    snapshot = region(**THREE_MSBS, capacity=[9], survives=[False], limits=[within(domains=2)])
    target = solved(snapshot, columns)
    assert coverage_of(snapshot, target).shortfall.tolist() == [0]
    assert len(held_in(snapshot, target, 0)) == 2
    short = solved(region(**THREE_MSBS, capacity=[9], survives=[False], limits=[within()]), columns)
    assert list(held_in(snapshot, short, 0).values()) == [6]


@COLUMNS
def test_four_reservations_that_fill_a_domain_each_get_one_each(columns):
    snapshot = region(**THREE_MSBS, capacity=[6] * 4, survives=[False] * 4, limits=[within()] * 4)
    target = solved(snapshot, columns)
    assert coverage_of(snapshot, target).shortfall.tolist() == [0] * 4
    assert sorted(next(iter(held_in(snapshot, target, r))) for r in range(4)) == [0, 1, 2, 3]


@COLUMNS
def test_servers_without_a_place_are_in_no_domain(columns):
    places = [UNPLACED] * 20 + [0, 0, 1, 1]
    snapshot = region(**(THREE_MSBS | {"domains": [places]}), capacity=[4], survives=[False], limits=[within()])
    assert sum(held_in(snapshot, solved(snapshot, columns), 0).values()) == 2


@COLUMNS
def test_a_scattered_reservation_gathers_in_the_domain_that_holds_most(columns):
    target = [0 if s in (0, 4, 8, 1, 2) else FREE for s in range(24)]
    servers = [(s // 8, 0, target[s], True) for s in range(24)]
    snapshot = region(**(THREE_MSBS | {"servers": servers}), capacity=[5], survives=[False], limits=[within()])
    assert held_in(snapshot, np.array(target), 0) == {0: 3, 1: 1, 2: 1}
    assert held_in(snapshot, solved(snapshot, columns), 0) == {0: 5}


@COLUMNS
def test_a_reservation_moves_whole_to_another_domain_if_its_own_is_too_small(columns):
    blocks = [0] * 3 + [1] * 21
    servers = [(s // 8, 0, 0 if s < 3 else FREE) for s in range(24)]
    snapshot = region(
        **(THREE_MSBS | {"servers": servers, "domains": [blocks]}), capacity=[6], survives=[False], limits=[within()]
    )
    target = solved(snapshot, columns)
    assert (held_in(snapshot, target, 0), coverage_of(snapshot, target).shortfall.tolist()) == ({1: 6}, [0])


@COLUMNS
def test_a_quorum_loses_at_most_two_servers_with_an_msb_and_shards_at_most_a_third(columns):
    quorum = [DomainLimit(kind="msb", servers_max=2)]
    shards = [DomainLimit(kind="kind_0", share_max=1 / 3)]
    snapshot = region(**THREE_MSBS, capacity=[5, 9], survives=[False, False], limits=[quorum, shards])
    target = solved(snapshot, columns)
    assert coverage_of(snapshot, target).shortfall.tolist() == [0, 0]
    assert max(held_in(snapshot, target, 0, "msb").values()) <= 2
    assert max(held_in(snapshot, target, 1).values()) <= 3
    short = region(**THREE_MSBS, capacity=[7], survives=[False], limits=[quorum])
    assert list(held_in(short, solved(short, columns), 0, "msb").values()) == [2, 2, 2]


def tiny(rng):
    """Return a tiny region with random limits for a further kind and for MSBs."""
    S, R = int(rng.integers(1, 6)), int(rng.integers(1, 3))
    snapshot = random_region(rng, S, R)
    other = region(servers=[(0, 0)] * S, capacity=[0.0] * R, domains=rng.integers(UNPLACED, 3, (1, S)))

    def limits():
        one = {"domains_max": int(rng.integers(1, 3)), "servers_max": int(rng.integers(1, 4)), "share_max": 0.6}
        kinds = [kind for kind in ("kind_0", "msb") if rng.random() < 0.6]
        named = [(kind, [name for name in one if rng.random() < 0.5]) for kind in kinds]
        return [DomainLimit(kind=kind, **{name: one[name] for name in names}) for kind, names in named]

    table = np.array([limits_table(limits(), other.topology.kinds) for _ in range(R)]).reshape(R, 3, len(LIMITS))
    return replace(
        snapshot,
        topology=replace(snapshot.topology, kinds=other.topology.kinds),
        servers=replace(snapshot.servers, domain=other.servers.domain),
        reservations=replace(
            snapshot.reservations,
            domain_limits=table,
            survives_loss_of=np.zeros((R, 1), bool),
            rack_spread_limit=np.full(R, np.inf),
        ),
    )


def excess_by_hand(snapshot, target):
    """Return by how much a binding breaks the limits, summed server by server and set by set."""
    q, s, found = snapshot.reservations, snapshot.servers, 0.0
    for r in range(len(q)):
        rows = np.flatnonzero((target == r) & s.lasting)
        for column, of in ((1, snapshot.server_msb), (2, s.domain[:, 0])):
            domains_max, servers_max, share_max, _ = q.domain_limits[r, column]
            sets = {d: [i for i in rows if of[i] == d] for d in sorted(set(of[rows].tolist()))}
            for inside in sets.values():
                load = sum(q.rru[r, s.hardware_type[i]] for i in inside)
                found += max(0.0, len(inside) - servers_max)
                found += max(0.0, load - share_max * q.capacity_rru[r]) if np.isfinite(share_max) else 0.0
            if np.isfinite(domains_max):
                placed = [d for d in sets if d != UNPLACED]
                chosen = combinations(placed, min(int(domains_max), len(placed)))
                found += len(rows) - max(sum(len(sets[d]) for d in few) for few in chosen)
    return found


@SMALL
@given(st.integers(0, 2**32 - 1))
def test_excess_is_the_definition_and_no_plan_raises_it(seed):
    rng = np.random.default_rng(seed)
    snapshot = tiny(rng)
    S, R = len(snapshot.servers), len(snapshot.reservations)
    for _ in range(5):
        binding = rng.integers(FREE, R, S).astype(np.int32)
        assert excess(snapshot, binding) == pytest.approx(excess_by_hand(snapshot, binding))
    for columns in (0, 10_000):
        target = solved(snapshot, columns)
        assert excess_by_hand(snapshot, target) <= excess_by_hand(snapshot, snapshot.servers.target) + 1e-6


@SMALL
@given(st.integers(0, 2**32 - 1))
def test_the_largest_possible_capacity_is_that_of_the_best_set_of_servers(seed):
    rng = np.random.default_rng(seed)
    snapshot = tiny(rng)
    q, s = snapshot.reservations, snapshot.servers
    snapshot = replace(
        snapshot,
        servers=replace(s, target=np.full(len(s), FREE, np.int32), available=np.ones(len(s), bool)),
        reservations=replace(q, affinity_share=np.full_like(q.affinity_share, np.nan)),
    )
    best = 0.0
    for chosen in product((FREE, 0), repeat=len(s)):
        binding = np.array(chosen, np.int32)
        if (q.rru[0, s.hardware_type[binding == 0]] > 0).all() and excess_by_hand(snapshot, binding) <= 1e-9:
            best = max(best, float(coverage_of(snapshot, binding).surviving[0]))
    most = potential_of(snapshot, 0).most_rru
    assert most >= best - 1e-6
    if not np.isfinite(q.domain_limits[0, :, 1:]).any():
        assert most == pytest.approx(best, abs=1e-6)


@SMALL
@given(st.integers(0, 2**32 - 1))
def test_a_reservation_that_holds_nothing_gets_domains_with_the_least_shortfall(seed):
    rng = np.random.default_rng(seed)
    S = int(rng.integers(2, 7))
    snapshot = region(
        msb_datacenter=(0, 0, 1),
        servers=[(int(rng.integers(3)), int(rng.integers(2))) for _ in range(S)],
        types=2,
        capacity=[float(rng.integers(1, S + 1))],
        rru=[[1.0, 1.5]],
        survives=[bool(rng.random() < 0.5)],
        domains=[rng.integers(UNPLACED, 3, S).tolist()],
        limits=[within()],
    )
    least = min(
        float(coverage_of(snapshot, binding).shortfall[0])
        for binding in (np.array(b, np.int32) for b in product((FREE, 0), repeat=S))
        if excess_by_hand(snapshot, binding) == 0
    )
    assert coverage_of(snapshot, solved(snapshot)).shortfall[0] == pytest.approx(least)


@COLUMNS
def test_a_reservation_that_cannot_move_whole_keeps_its_domain(columns):
    """Block 1 could give all 6 servers, but two of block 0 stay: they are in maintenance."""
    blocks = [0] * 3 + [1] * 21
    servers = [(s // 8, 0, 0 if s < 3 else FREE) for s in range(24)]
    snapshot = region(
        **(THREE_MSBS | {"servers": servers, "domains": [blocks]}), capacity=[6], survives=[False], limits=[within()]
    )
    drained = np.arange(24) < 2
    target = solved(replace(snapshot, servers=replace(snapshot.servers, drained=drained)), columns)
    assert held_in(snapshot, target, 0) == {0: 3}


@COLUMNS
@pytest.mark.parametrize("held", [FREE, 0])
def test_the_chosen_domain_gives_the_resources_too(columns, held):
    # Both blocks have 4 servers of 1 RRU. Those of block 0 have 1 GiB each, and those of block 1 64 GiB.
    servers = [(s // 8, int(s % 8 >= 4), held if s < 2 else FREE) for s in range(8)]
    snapshot = region(
        **(THREE_MSBS | {"servers": servers, "domains": [[0] * 4 + [1] * 4]}),
        types=2,
        capacity=[2],
        survives=[False],
        limits=[within()],
        amounts=[[1.0, 64.0]],
        resources=[[100.0]],
    )
    target = solved(snapshot, columns)
    assert (held_in(snapshot, target, 0), coverage_of(snapshot, target).shortfall.tolist()) == ({1: 2}, [0])


@COLUMNS
def test_a_reservation_makes_room_for_one_that_fits_nowhere_else(columns):
    """Each of two small ones holds half of a block, and the large one needs a whole block."""
    servers = [(0, 0, 0 if s < 3 else 1 if s in (6, 7, 8) else FREE) for s in range(12)]
    snapshot = region(
        msb_datacenter=(0,),
        servers=servers,
        capacity=[3, 3, 6],
        survives=[False] * 3,
        domains=[[0] * 6 + [1] * 6],
        limits=[within()] * 3,
    )
    target = solved(snapshot, columns)
    assert coverage_of(snapshot, target).shortfall.tolist() == [0, 0, 0]
    assert sorted(len(held_in(snapshot, target, r)) for r in range(3)) == [1, 1, 1]


def test_the_choice_of_domains_is_a_step_of_the_solve():
    told = []
    found = plan_target_bindings(
        region(**THREE_MSBS, capacity=[4], limits=[within()]), progress=lambda phase, *_: told.append(phase)
    )
    assert (told[0], "domains" in found.report.step_s) == ("domains", True)
    assert "domains" not in plan_target_bindings(region(**THREE_MSBS, capacity=[4])).report.step_s


@COLUMNS
@pytest.mark.parametrize("limit", ["servers_max", "share_max", "power", "affinity"])
def test_the_choice_weighs_other_limits_and_shares_too(columns, limit):
    """Block 0 is the MSB of one datacenter, and block 1 has two MSBs of another. Only block 1 fits."""
    others = {"servers_max": {"servers_max": 3}, "share_max": {"share_max": 0.5}}.get(limit)
    snapshot = region(
        msb_datacenter=(0, 1, 1),
        servers=[(m, 0) for m in (0, 0, 1, 2) for _ in range(3)],
        capacity=[6],
        survives=[False],
        domains=[[0] * 6 + [1] * 6],
        limits=[within() + ([DomainLimit(kind="msb", **others)] if others else [])],
        affinity=[[0.0, 1.0]] if limit == "affinity" else None,
    )
    if limit == "power":
        snapshot = powered(snapshot, ("MSB", "msb-0", 6 * 100.0 + 5 * 200.0))
    target = solved(snapshot, columns)
    assert (held_in(snapshot, target, 0), coverage_of(snapshot, target).shortfall.tolist()) == ({1: 6}, [0])


@COLUMNS
def test_none_makes_room_who_would_leave_the_datacenter_of_its_shares(columns):
    """One of two small ones must move, and the one that is cheaper to move has its share where it is."""
    servers = [(s // 6, 0, 0 if s < 3 else 1 if s in (6, 7, 8) else FREE, s >= 6) for s in range(12)]
    snapshot = region(
        msb_datacenter=(0, 1),
        servers=servers,
        capacity=[3, 3, 6],
        survives=[False] * 3,
        domains=[[0] * 6 + [1] * 6],
        limits=[within()] * 3,
        affinity=[[1.0, 0.0], [np.nan, np.nan], [np.nan, np.nan]],
    )
    target = solved(snapshot, columns)
    assert coverage_of(snapshot, target).shortfall.tolist() == [0, 0, 0]
    assert [held_in(snapshot, target, r) for r in range(3)] == [{0: 3}, {0: 3}, {1: 6}]


@SMALL
@given(st.integers(0, 2**32 - 1))
def test_no_choice_of_domains_lacks_less_than_that_of_the_plan(seed):
    rng = np.random.default_rng(seed)
    S, R, blocks = int(rng.integers(3, 6)), 2, rng.integers(0, 2, 5)
    held = np.full(S, FREE)
    for r in range(R):
        free = np.flatnonzero((blocks[:S] == rng.integers(2)) & (held == FREE))
        held[free[: rng.integers(0, len(free) + 1)]] = r
    snapshot = region(
        servers=[(int(rng.integers(3)), 0, int(of)) for of in held],
        capacity=rng.integers(1, 4, R).astype(float),
        survives=rng.random(R) < 0.2,
        domains=[blocks[:S].tolist()],
        limits=[within()] * R,
    )
    least = min(
        float(coverage_of(snapshot, binding).shortfall.sum())
        for binding in (np.array(b, np.int32) for b in product((FREE, 0, 1), repeat=S))
        if excess(snapshot, binding) == 0 and not check_regression(snapshot, binding)
    )
    assert coverage_of(snapshot, solved(snapshot)).shortfall.sum() == pytest.approx(least)


def test_the_bounds_of_chosen_domains_are_reported_as_such_and_none_is_above_the_plan() -> None:
    servers = [(0, 0), (0, 1), (1, 0), (1, 1)]
    both = region(
        msb_datacenter=(0, 0),
        types=2,
        servers=servers,
        capacity=[1, 1],
        survives=[False, False],
        rru=[[1, 1], [1, 0]],
        domains=[[0, 0, 1, 1]],
        limits=[within(), within()],
    )
    report = plan_target_bindings(both).report
    assert report.chosen_domains
    assert report.as_dict()["chosen_domains"]
    assert report.lower_bound <= report.score.total_without_rack
    assert report.least_penalty <= report.score.penalty
    plain = plan_target_bindings(region(servers=servers, types=2, msb_datacenter=(0, 0), capacity=[1])).report
    assert not plain.chosen_domains
    assert "chosen_domains" not in plain.as_dict()
