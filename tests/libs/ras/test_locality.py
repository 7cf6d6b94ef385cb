"""Locality at a price: further domains cost, by definition, and tiny regions weigh that cost to the optimum."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libs.assignment import Limits
from libs.domain.domain_kind import UNPLACED
from libs.domain.domain_limits import LIMITS, DomainLimit, limits_table
from libs.domain.fleet import FREE
from libs.domain.locality import further_domains
from libs.domain.policy import RegionPolicy
from libs.domain.reservation import Coverage
from libs.plan_check.check import check_plan
from libs.plan_check.hard_limits import excess
from libs.ras.evaluate import costs_by_reservation, coverage_of, evaluate
from libs.ras.explain.deciders import decide
from libs.ras.explain.words import claim
from libs.ras.findings import findings_of
from libs.ras.phases.kept_terms import worse_off
from libs.ras.solve import plan_target_bindings
from libs.ras.statement import state_region
from tests.builders.random_region import random_region, region, retargeted
from tests.libs.ras.test_domain_limits import COLUMNS, SMALL, THREE_MSBS, held_in, solved

NAME = "DomainsPreferred"


def rather(kind="kind_0", domains=1, **hard):
    return [DomainLimit(kind=kind, domains_preferred=domains, **hard)]


def tiny(rng):
    """Return a tiny region in which some reservations prefer few blocks or MSBs."""
    S, R = int(rng.integers(1, 6)), int(rng.integers(1, 3))
    snapshot = random_region(rng, S, R)
    other = region(servers=[(0, 0)] * S, capacity=[0.0] * R, domains=rng.integers(UNPLACED, 3, (1, S)))

    def limits():
        kinds = [kind for kind in ("kind_0", "msb", "datacenter") if rng.random() < 0.5]
        return [DomainLimit(kind=kind, domains_preferred=int(rng.integers(1, 3))) for kind in kinds]

    table = np.array([limits_table(limits(), other.topology.kinds) for _ in range(R)]).reshape(R, 3, len(LIMITS))
    return replace(
        snapshot,
        policy=replace(RegionPolicy(), fix_first=False, locality_cost=float(rng.choice([0.5, 4.0, 50.0, 2000.0]))),
        topology=replace(snapshot.topology, kinds=other.topology.kinds),
        servers=replace(snapshot.servers, domain=other.servers.domain),
        reservations=replace(
            snapshot.reservations,
            domain_limits=table,
            survives_loss_of=np.zeros((R, 1), bool),
            rack_spread_limit=np.full(R, np.inf),
        ),
    )


def further_by_hand(snapshot, binding):
    """Return the further domains of each reservation, counted server by server."""
    q, s, found = snapshot.reservations, snapshot.servers, []
    for r in range(len(q)):
        rows = [i for i in range(len(s)) if binding[i] == r and s.lasting[i]]
        number = 0
        for column, of in ((0, snapshot.server_datacenter), (1, snapshot.server_msb), (2, s.domain[:, 0])):
            wanted = q.domain_limits[r, column, 3]
            number += max(0, len({int(of[i]) for i in rows}) - wanted) if np.isfinite(wanted) else 0
        found.append(number)
    return found


def legal_bindings(snapshot):
    s, rru = snapshot.servers, snapshot.reservations.rru
    of_server = [
        [FREE, *(r for r in range(len(rru)) if r == s.target[i] or rru[r, s.hardware_type[i]] > 0)]
        if s.available[i]
        else [max(s.target[i], FREE)]
        for i in range(len(s))
    ]
    return (np.array(binding, np.int32) for binding in product(*of_server))


@SMALL
@given(st.integers(0, 2**32 - 1))
def test_tiny_regions_are_solved_to_the_optimum(seed):
    snapshot = tiny(np.random.default_rng(seed))
    best = min(evaluate(snapshot, binding).total for binding in legal_bindings(snapshot))
    found = plan_target_bindings(snapshot, Limits(relative_gap=0.0, exact_columns_max=10_000))
    assert check_plan(snapshot, found.plan) == []
    assert found.report.score.total == pytest.approx(best, abs=1e-5)
    assert found.report.lower_bound <= best + 1e-5


@SMALL
@given(st.integers(0, 2**32 - 1))
def test_the_cost_is_the_definition_and_forbids_nothing(seed):
    rng = np.random.default_rng(seed)
    snapshot = tiny(rng)
    for _ in range(5):
        binding = rng.integers(FREE, len(snapshot.reservations), len(snapshot.servers)).astype(np.int32)
        assert further_domains(snapshot, binding).tolist() == further_by_hand(snapshot, binding)
        score = evaluate(snapshot, binding)
        assert score.locality == pytest.approx(snapshot.policy.locality_cost * sum(further_by_hand(snapshot, binding)))
        blind = evaluate(replace(snapshot, policy=replace(snapshot.policy, locality_cost=0.0)), binding)
        assert score.total == pytest.approx(blind.total + score.locality)
        assert excess(snapshot, binding) == 0
    dear = costs_by_reservation(snapshot, binding)
    cheap = costs_by_reservation(replace(snapshot, policy=replace(snapshot.policy, locality_cost=0.0)), binding)
    assert (dear - cheap).tolist() == pytest.approx(
        [snapshot.policy.locality_cost * number for number in further_by_hand(snapshot, binding)]
    )


@COLUMNS
def test_a_reservation_takes_a_further_domain_only_for_what_it_is_worth(columns):
    wish = {"survives": [False], "limits": [rather()]}
    few = region(**THREE_MSBS, capacity=[6], **wish)
    together = solved(few, columns)
    assert list(held_in(few, together, 0).values()) == [6]
    snapshot = region(**THREE_MSBS, capacity=[9], **wish)
    found = solved(snapshot, columns)
    assert coverage_of(snapshot, found).shortfall.tolist() == [0], "a wish makes nobody short"
    assert len(held_in(snapshot, found, 0)) == 2
    assert evaluate(snapshot, found).locality == snapshot.policy.locality_cost
    bounded = region(**THREE_MSBS, capacity=[13], survives=[False], limits=[rather(domains=1, domains_max=2)])
    assert sum(held_in(bounded, solved(bounded, columns), 0).values()) == 12, "the hard limit still holds"


@COLUMNS
def test_servers_gather_if_that_costs_less_than_their_domains(columns):
    """r0 holds two servers in use in each of two blocks. Two moves of 10 cost less than a block of 50."""
    held = [(m, 0, 0 if (m, k) in ((0, 0), (1, 0), (0, 1), (1, 1)) else FREE, True) for m in range(3) for k in range(8)]
    plain = region(**(THREE_MSBS | {"servers": held}), capacity=[4], survives=[False], limits=[rather()])
    for price, blocks in ((50.0, 1), (15.0, 2)):
        snapshot = replace(plain, policy=replace(plain.policy, locality_cost=price, reservation_churn_share=1.0))
        snapshot = replace(snapshot, policy=replace(snapshot.policy, daily_churn_share=1.0, solve_churn_share=1.0))
        assert len(held_in(snapshot, solved(snapshot, columns), 0)) == blocks


def test_regions_without_the_wish_state_the_same_problem():
    snapshot = random_region(np.random.default_rng(5), 60, 4)
    one = state_region(snapshot)
    other = state_region(replace(snapshot, policy=replace(snapshot.policy, locality_cost=1.0)))
    stated = [[(goal.spec.name, goal.weight) for goal in each.problem.goals] for each in (one, other)]
    assert stated[0] == stated[1]
    assert not any("locality" in name for name, _ in stated[0])
    assert list(one.problem.partitions) == list(other.problem.partitions)


def test_a_later_phase_counts_a_further_domain_as_a_loss():
    snapshot = region(**THREE_MSBS, capacity=[2], survives=[False], limits=[rather()])
    together, apart = np.full(24, FREE, np.int32), np.full(24, FREE, np.int32)
    together[[0, 4]], apart[[0, 5]] = 0, 0
    assert worse_off(snapshot, together, apart).tolist() == [True]
    assert worse_off(snapshot, apart, together).tolist() == [False]


def test_a_finding_tells_of_further_domains():
    snapshot = region(**THREE_MSBS, capacity=[2], survives=[False], limits=[rather()])
    whole = Coverage(servers=2, unavailable_servers=0, total_rru=2, worst_msb_rru=2, worst_msb="msb-0", shortfall_rru=0)
    for rows, further in (([0, 5], 1), ([0, 4], 0)):
        target = np.full(24, FREE, np.int32)
        target[rows] = 0
        [finding] = findings_of(snapshot, target, np.flatnonzero(target == FREE), {0: whole})
        assert finding.reason == "Granted"
        assert finding.numbers.get("further_domains", 0) == further
        assert ("It lies in 2 domains of the kind kind_0, and prefers 1." in finding.message) == bool(further)


def test_an_explanation_tells_that_the_wish_decides():
    """Both servers are in msb-0. The other MSB would save 20 of spread for a move of 1, and is another block."""
    snapshot = region(
        msb_datacenter=(0, 0),
        servers=[(0, 0, 0), (0, 0, 0), (0, 0), (1, 0), (1, 0)],
        domains=[[0, 0, 0, 1, 1]],
        capacity=[2],
        survives=[False],
        msb_limit=[0.5],
        limits=[rather()],
        policy=RegionPolicy(spread_cost=20.0),
    )
    for price, decides in ((50.0, True), (15.0, False)):
        priced = replace(snapshot, policy=replace(snapshot.policy, locality_cost=price))
        target = solved(priced)
        assert len(held_in(priced, target, 0)) == (1 if decides else 2)
        [decider] = [
            one for one in decide(retargeted(priced, target), 0, time_s_max=600.0).deciders if one.name == NAME
        ]
        assert (decider.subject, decider.now.decides) == ("kind_0", decides)
        assert claim(decider).startswith("If it preferred no number of domains of the kind kind_0")
