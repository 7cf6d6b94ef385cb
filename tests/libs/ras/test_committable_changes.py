"""Check that a sound part of a plan is kept, against the definitions and against every part of small plans."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.domain.plan_changes import NONE, PlanChanges
from libs.domain.policy import RegionPolicy
from libs.domain.power_bounds import PowerBounds
from libs.plan_check.committed import check_committed
from libs.ras.arrival_bounds import settle_within
from libs.ras.committable_changes import Why, settle
from libs.ras.power_bounds import PowerBound
from tests.builders.plan_changes import plan_changes, touched

POLICY = RegionPolicy()


def kept(changes: PlanChanges, policy: RegionPolicy = POLICY, planned=None) -> list[bool]:
    planned = np.zeros(len(changes.touched)) if planned is None else np.array(planned, float)
    settled = settle(changes, policy, planned)
    assert not check_committed(changes, settled.kept, policy, planned)
    return settled.kept.tolist()


def test_a_reservation_keeps_the_server_whose_successor_changed() -> None:
    swap = plan_changes(touched([[2.0, 2.0]], capacity=[4]), [(0, NONE, 0, 1.0), (NONE, 0, 1, 1.0, {"changed": True})])
    assert kept(swap) == [False, False]
    settled = settle(swap, POLICY, np.zeros(1))
    assert (settled.because.tolist(), settled.why.tolist()) == ([0, NONE], [Why.SHORT, Why.NOT_DROPPED])


def test_only_as_many_changes_are_dropped_as_are_needed() -> None:
    rows = [(0, NONE, 0, 1.0)] * 3 + [(NONE, 0, 1, 1.0)] * 2 + [(NONE, 0, 1, 1.0, {"changed": True})]
    assert sum(kept(plan_changes(touched([[3.0, 0.0]], capacity=[3]), rows))) == 4


def test_who_does_not_get_a_kept_server_keeps_one_too() -> None:
    chain = [(NONE, 0, 0, 1.0, {"changed": True}), (0, 1, 0, 1.0), (1, 2, 0, 1.0), (2, NONE, 0, 1.0)]
    assert kept(plan_changes(touched([[1.0], [1.0], [1.0]], capacity=[1, 1, 1]), chain)) == [False] * 4
    assert kept(plan_changes(touched([[1.0], [1.0], [2.0]], capacity=[1, 1, 1]), chain)) == [False, False, False, True]


def test_a_kept_server_is_one_that_nobody_misses() -> None:
    rows = [(0, 1, 0, 1.0), (0, NONE, 0, 1.0), (NONE, 0, 0, 1.0), (NONE, 0, 0, 1.0, {"changed": True})]
    assert kept(plan_changes(touched([[2.0], [1.0]], capacity=[2, 2]), rows)) == [True, False, True, False]


def test_the_loss_of_the_fullest_msb_counts() -> None:
    rows = [(0, NONE, 1, 1.0), (NONE, 0, 0, 1.0), (NONE, 0, 2, 1.0, {"changed": True})]
    assert kept(plan_changes(touched([[1.0, 1.0, 0.0]], capacity=[1], survives=[True]), rows)) == [False, True, False]
    assert kept(plan_changes(touched([[1.0, 1.0, 0.0]], capacity=[1], survives=[False]), rows)) == [True, True, False]


def test_the_loss_of_any_one_domain_of_another_kind_counts_too() -> None:
    """Both servers that stay are in one block: 2 RRU are left after the loss of any MSB, and none after that of it."""
    load = [[1.0, 1.0, 1.0, 2.0, 1.0]]
    rows = [(0, NONE, 2, 1.0, {"domain": 1}), (NONE, 0, 1, 1.0, {"domain": 1, "changed": True})]
    both = {"capacity": [1], "survives": [True], "domains": 2}
    assert kept(plan_changes(touched(load, **both), rows)) == [True, False]
    assert kept(plan_changes(touched(load, survives_other=[True], **both), rows)) == [False, False]


def test_a_promise_that_grew_during_the_solve_counts() -> None:
    """The plan takes the surplus that a resize and its grant used meanwhile."""
    assert kept(plan_changes(touched([[4.0]], capacity=[3]), [(0, NONE, 0, 1.0)])) == [True]
    assert kept(plan_changes(touched([[4.0]], capacity=[4]), [(0, NONE, 0, 1.0)])) == [False]


def test_servers_that_are_no_use_any_more_are_left_alone() -> None:
    rows = [(NONE, 0, 0, 1.0, {"to_rru": 0.0}), (0, NONE, 0, 1.0)]
    assert kept(plan_changes(touched([[1.0]], capacity=[1]), rows)) == [False, False]


def test_leaving_servers_are_given_up_only_if_those_that_are_there_cover_it() -> None:
    rows = [(0, NONE, 0, 1.0, {"leaving": True, "source_rru": 0.0})]
    assert kept(plan_changes(touched([[2.0]], capacity=[2], there=[[2.0]]), rows)) == [True]
    early = plan_changes(touched([[2.0]], capacity=[2], there=[[1.0]]), rows)
    assert kept(early) == [False]
    assert settle(early, POLICY, np.zeros(1)).why.tolist() == [Why.RETIRING]


def test_a_reservation_is_not_driven_off_its_datacenters() -> None:
    """Without the server that changed, the rest would leave it more in the wrong datacenter."""
    q = touched([[2.0, 2.0]], capacity=[4], share=[[0.5, 0.5]], msb_datacenter=[0, 1])
    rows = [(0, NONE, 0, 1.0, {"changed": True}), (NONE, 0, 0, 1.0)]
    assert kept(plan_changes(q, rows)) == [False, False]
    assert settle(plan_changes(q, rows), POLICY, np.zeros(1)).why.tolist() == [Why.NOT_DROPPED, Why.AFFINITY]


def test_what_the_plan_takes_on_purpose_may_go_only_if_others_gain_as_much() -> None:
    policy = RegionPolicy(fix_first=False)
    q = touched([[4.0], [0.0]], capacity=[4, 4])
    assert kept(plan_changes(q, [(0, 1, 0, 1.0)]), policy, [1, 0]) == [True]
    lost = [(0, NONE, 0, 1.0), (NONE, 1, 0, 2.0, {"changed": True})]
    assert kept(plan_changes(q, lost), policy, [1, 0]) == [False, False]
    assert kept(plan_changes(q, [(0, 1, 0, 1.0)]), POLICY) == [False]


@st.composite
def small_plans(draw) -> PlanChanges:
    """Up to four reservations, three MSBs, three further domains and eight changes: every part can be tried."""
    Q, M = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    load = draw(
        st.lists(st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.5]), min_size=M, max_size=M), min_size=Q, max_size=Q)
    )
    capacity = draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, 5.0]), min_size=Q, max_size=Q))
    survives = draw(st.lists(st.booleans(), min_size=Q, max_size=Q))
    share = draw(st.lists(st.sampled_from([[np.nan, np.nan], [0.5, 0.5], [1.0, np.nan]]), min_size=Q, max_size=Q))
    other = {}
    if domains := draw(st.sampled_from([0, 0, 2, 3])):
        # an MSB's load is drawn a second time, as shares of the further domains
        share_of = draw(st.lists(st.permutations([0.5, 0.5, 0.0, 0.0][: max(domains, 2)]), min_size=Q, max_size=Q))
        load = [row + [sum(row) * part for part in parts] for row, parts in zip(load, share_of, strict=True)]
        other = {"domains": domains, "survives_other": draw(st.lists(st.booleans(), min_size=Q, max_size=Q))}
    q = touched(load, capacity=capacity, survives=survives, share=share, msb_datacenter=[0, 1, 1][:M], **other)
    if M == 1:
        q = touched(load, capacity=capacity, survives=survives, **other)
    end = st.integers(NONE, Q - 1)
    rows = []
    for _ in range(draw(st.integers(1, 8))):
        source, to = draw(end), draw(end)
        extra = {"changed": draw(st.integers(0, 3)) == 0, "leaving": to == NONE and draw(st.booleans())}
        extra["current"] = draw(end)
        extra["domain"] = draw(st.integers(0, max(domains, 1) - 1))
        rru = draw(st.sampled_from([0.5, 1.0, 2.0]))
        extra["source_rru"] = 0.0 if source == NONE or extra["leaving"] else rru
        rows.append((source, to, draw(st.integers(0, M - 1)), rru, extra))
    return plan_changes(q, rows)


@settings(max_examples=300, deadline=None)
@given(small_plans())
def test_the_kept_part_is_sound_and_no_single_change_could_be_added(changes: PlanChanges) -> None:
    none = np.zeros(len(changes.touched))
    settled = settle(changes, POLICY, none)

    def sound(part: np.ndarray) -> bool:
        return not check_committed(changes, part, POLICY, none)

    assert sound(settled.kept)
    for n in np.flatnonzero(~settled.kept):
        more = settled.kept.copy()
        more[n] = True
        assert not sound(more)
    parts = [np.array(part) for part in product([False, True], repeat=len(changes))]
    largest = max(int(part.sum()) for part in parts if sound(part))
    legal = ~changes.changed & ((changes.to == NONE) | (changes.to_rru > 0))
    if sound(legal):
        assert settled.kept.sum() == largest == legal.sum()
    assert settled.kept.sum() <= largest


@pytest.mark.parametrize("policy", [POLICY, RegionPolicy(fix_first=False)])
def test_large_plans_stay_sound_though_one_in_five_servers_changed(policy: RegionPolicy) -> None:
    rng = np.random.default_rng(7)
    Q, M, N = 60, 8, 1500
    for _ in range(5):
        rows = [
            (int(s), int(t), int(m), float(rru), {"changed": bool(rng.random() < 0.2)})
            for s, t, m, rru in zip(
                rng.integers(NONE, Q, N),
                rng.integers(NONE, Q, N),
                rng.integers(0, M, N),
                rng.choice([0.3, 1, 2.7], N),
                strict=True,
            )
            if s != t
        ]
        load = np.full((Q, M), 12.0)
        q = touched(load, capacity=rng.choice([84.0, 70.0], Q), survives=np.ones(Q, bool))
        share = np.mean(kept(plan_changes(q, rows), policy))
        assert share > 0.5


def test_arrivals_beyond_a_limit_on_power_are_barred_the_last_ones_first():
    # Three servers of 200 W each join r0. The MSB has room for two of them, and the row of the last two for one.
    changes = plan_changes(touched([[1.0, 0.0]], capacity=[4]), [(NONE, 0, 0, 1.0)] * 3 + [(0, NONE, 0, 1.0)])
    power = PowerBounds(
        name=("MSB msb-0", "power_row row-1"),
        limit=np.array([[0, NONE], [0, 1], [0, 1], [0, NONE]], np.int32),
        gain_w=np.array([200.0, 200.0, 200.0, 0.0]),
        room_w=np.array([500.0, 300.0]),
    )
    settled = settle_within(changes, POLICY, np.zeros(1), [PowerBound(power)])
    assert settled.kept.tolist() == [True, True, False, True]
    assert settled.why[2] == Why.POWER
    assert check_committed(changes, settled.kept, POLICY, np.zeros(1), power) == []
    every = check_committed(changes, np.ones(4, bool), POLICY, np.zeros(1), power)
    assert [one.reason for one in every] == ["PowerLimitExceeded"] * 2
