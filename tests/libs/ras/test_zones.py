"""The choice of domains: one reservation after the other, and all together (docs/designs/0054)."""

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from libs.assignment import Limits
from libs.domain.domain_limits import DomainLimit
from libs.domain.fleet import FREE
from libs.domain.limited_kinds import limited_kinds
from libs.plan_check.check import check_plan
from libs.plan_check.hard_limits import excess
from libs.plan_check.regression import check_regression, penalties
from libs.ras import solve, zones_together
from libs.ras.solve import plan_target_bindings
from libs.ras.zones import Zones, choose_zones
from libs.ras.zones_one_by_one import one_by_one
from tests.builders.random_region import region

SMALL = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


def within(**most):
    return [DomainLimit(kind=kind, domains_max=domains) for kind, domains in most.items()]


def chosen(snapshot):
    """Return the choice one by one, by kind and reservation, as lists of open domains."""
    kinds, R = limited_kinds(snapshot), len(snapshot.reservations)
    every = np.arange(R, dtype=np.int32)
    choice = one_by_one(snapshot, kinds, every, snapshot.servers.target, np.zeros(R, bool), lambda: False)
    names = [kind.kind for kind in kinds]
    opened = [[np.flatnonzero(may[r]).tolist() for r in range(R)] for may in choice.opened]
    return dict(zip(names, opened, strict=True)), choice.hopeless.tolist()


def test_the_datacenter_is_not_chosen_without_a_look_at_its_blocks():
    """Datacenter 0 has more servers, in blocks of 2. Only the block of datacenter 1 has 4."""
    snapshot = region(
        msb_datacenter=(0, 1),
        servers=[(0, 0)] * 6 + [(1, 0)] * 4,
        capacity=[4],
        survives=[False],
        domains=[[0, 0, 1, 1, 2, 2, 3, 3, 3, 3]],
        limits=[within(datacenter=1, kind_0=1)],
    )
    assert chosen(snapshot)[0] == {"datacenter": [[1]], "kind_0": [[3]]}


def test_no_domain_is_chosen_that_another_choice_closes():
    """MSB 2 is the second largest, but it has no server of the block that MSB 0 and MSB 1 share."""
    snapshot = region(
        msb_datacenter=(0, 0, 0),
        servers=[(0, 0)] * 5 + [(1, 0)] * 3 + [(2, 0)] * 4,
        capacity=[2],
        survives=[False],
        domains=[[0] * 8 + [1] * 4],
        limits=[within(msb=2, kind_0=1)],
    )
    assert chosen(snapshot)[0] == {"msb": [[0, 1]], "kind_0": [[0]]}


def test_chosen_domains_are_exchanged_while_less_lacks():
    """Block 0 alone gives most after the loss of an MSB, and blocks 1 and 2 together do."""
    snapshot = region(
        servers=[(0, 0)] * 3 + [(1, 0)] * 3 + [(2, 0)] * 7 + [(1, 0)] * 7,
        capacity=[7],
        survives=[True],
        domains=[[0] * 6 + [1] * 7 + [2] * 7],
        limits=[within(kind_0=2)],
    )
    assert chosen(snapshot) == ({"kind_0": [[1, 2]]}, [False])


def test_the_one_that_lacks_something_it_could_have_chooses_first():
    """Both blocks suit the larger reservation, and only block 0 suits the smaller one."""
    snapshot = region(
        msb_datacenter=(0,),
        types=2,
        servers=[(0, 0)] * 6 + [(0, 1)] * 5,
        capacity=[5, 3],
        rru=[[1.0, 1.0], [1.0, 0.0]],
        survives=[False, False],
        domains=[[0] * 6 + [1] * 5],
        limits=[within(kind_0=1)] * 2,
    )
    assert chosen(snapshot) == ({"kind_0": [[1], [0]]}, [False, False])


def with_a_hopeless_one():
    """Return two reservations that may use one block of 4 servers each. The first wants 6."""
    return region(
        msb_datacenter=(0,),
        servers=[(0, 0)] * 8,
        capacity=[6, 2],
        survives=[False, False],
        domains=[[0] * 4 + [1] * 4],
        limits=[within(kind_0=1)] * 2,
    )


def test_one_that_would_lack_as_much_alone_is_hopeless():
    assert chosen(with_a_hopeless_one())[1] == [True, False]


def test_one_that_lacks_only_by_the_order_of_its_kinds_is_not_hopeless():
    """Only block 2 has four servers in one MSB. MSB 4 and block 0 have more, but not together."""
    places = [(m, 0) for m in (0, 1, 2) for _ in range(3)] + [(3, 2)] * 4 + [(4, block) for block in range(3, 8)]
    snapshot = region(
        msb_datacenter=(0,) * 5,
        servers=[(msb, 0) for msb, _ in places],
        capacity=[4],
        survives=[False],
        domains=[[block for _, block in places]],
        limits=[within(msb=1, kind_0=1)],
    )
    assert chosen(snapshot)[1] == [False]
    assert plan_target_bindings(snapshot).report.shortfall_rru.sum() == 0


@SMALL
@given(st.integers(0, 2**32 - 1))
def test_no_choice_of_domains_of_two_kinds_costs_less_penalty_than_the_plan(seed):
    rng = np.random.default_rng(seed)
    S, R = int(rng.integers(4, 7)), 2
    blocks, pods = rng.integers(0, 2, S), rng.integers(0, 2, S)
    snapshot = region(
        msb_datacenter=(0, 0, 1),
        types=2,
        servers=[(int(rng.integers(3)), int(rng.integers(2)), FREE) for _ in range(S)],
        capacity=rng.integers(1, 4, R).astype(float),
        rru=[[1.0, rng.choice([1.0, 1.5])] for _ in range(R)],
        survives=rng.random(R) < 0.4,
        survives_loss_of=np.stack([rng.random(R) < 0.4, np.zeros(R, bool)], axis=1),
        affinity=np.where(rng.random((R, 2)) < 0.3, 0.5, np.nan),
        domains=[blocks.tolist(), pods.tolist()],
        limits=[within(**{str(rng.choice(["datacenter", "msb", "kind_0"])): 1, "kind_1": 1}) for _ in range(R)],
    )
    least = min(
        float(penalties(snapshot, binding).sum())
        for binding in (np.array(b, np.int32) for b in product((FREE, 0, 1), repeat=S))
        if excess(snapshot, binding) == 0 and not check_regression(snapshot, binding)
    )
    found = plan_target_bindings(snapshot)
    assert check_plan(snapshot, found.plan) == []
    assert found.report.score.penalty == pytest.approx(least, abs=1e-3)


def packed(seed, blocks=8, each=20):
    """Return jobs that fill blocks, each in one block and few MSBs. All of them fit, and six in ten hold servers."""
    rng = np.random.default_rng(seed)
    block = np.repeat(np.arange(blocks), each)
    msb = np.concatenate([np.sort(rng.choice(rng.choice(6, 3, replace=False), each)) for _ in range(blocks)])
    capacity, limits = [], []
    for b in range(blocks):
        at = 0
        while at < each - 2:
            rows = np.flatnonzero(block == b)[at : min(at + int(rng.integers(3, 15)), each - 1)]
            at += len(rows)
            capacity.append(float(len(rows)))
            limits.append(within(kind_0=1, msb=len(np.unique(msb[rows]))))
    held = np.full(len(block), FREE)
    for r in rng.permutation(len(capacity))[: int(0.6 * len(capacity))]:
        free = np.flatnonzero((held < 0) & (block == rng.integers(blocks)))
        few = np.isin(msb[free], rng.permutation(np.unique(msb[free]))[: limits[r][1].domains_max])
        held[free[few][: int(capacity[r])]] = r
    return region(
        msb_datacenter=(0,) * 6,
        servers=[(int(m), 0, int(r)) for m, r in zip(msb, held, strict=True)],
        capacity=capacity,
        survives=[False] * len(capacity),
        domains=[block.tolist()],
        limits=limits,
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_domains_of_all_kinds_of_a_reservation_are_chosen_again_together(seed):
    snapshot = packed(seed)
    found = plan_target_bindings(snapshot, Limits(neighbourhoods_max=0))
    assert check_plan(snapshot, found.plan) == []
    assert found.report.shortfall_rru.sum() == 0


def test_shares_of_the_time_are_of_what_the_choice_leaves(monkeypatch):
    limits, run = [], solve._Solve

    def choose(snapshot, *, time_s_max, **others) -> Zones | None:
        limits.append(time_s_max)
        return choose_zones(snapshot, **others)

    monkeypatch.setattr(solve, "choose_zones", choose)
    snapshot = region(servers=[(0, 0)] * 2, capacity=[1], survives=[False], limits=[within(msb=1)])
    one = run(snapshot, Limits(time_s_max=100.0), 0, None, None, None)
    one.step_s[solve.DOMAINS] = 40.0
    assert limits == [30.0]
    assert one._shortened(0.5).time_s_max == 70.0
    assert one._shortened(1.0).time_s_max == 100.0


def test_a_lack_that_none_avoids_takes_no_program(monkeypatch):
    tried = []
    monkeypatch.setattr(zones_together, "EXACT_MAX", 0)
    solved = zones_together.solve_mip
    monkeypatch.setattr(
        zones_together, "solve_mip", lambda model, limits, **others: tried.append(1) or solved(model, limits, **others)
    )
    choose_zones(with_a_hopeless_one())
    assert len(tried) == 1
