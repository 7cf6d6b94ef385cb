"""Requests, replacements, commits and explanations keep to limits per kind of domain, with reasons of their own."""

from dataclasses import replace

import numpy as np
import pytest

from libs.domain.domain_kind import UNPLACED
from libs.domain.domain_limits import DomainLimit
from libs.domain.fleet import FREE
from libs.domain.plan_changes import NONE, LimitedDomains
from libs.domain.policy import RegionPolicy
from libs.domain.replacement import LossVerdict
from libs.domain.reservation import ReservationSpec
from libs.plan_check.check import check_plan
from libs.plan_check.committed import check_committed
from libs.plan_check.replacement import check_replacements
from libs.ras.admission import admit
from libs.ras.committable_changes import Why, settle
from libs.ras.explain.deciders import decide
from libs.ras.explain.words import _MEANS
from libs.ras.replacement import plan_replacements
from libs.ras.solve import plan_target_bindings
from tests.builders.failures import failures_snapshot, swaps
from tests.builders.plan_changes import plan_changes, touched
from tests.builders.random_region import region

BLOCKS = [0] * 6 + [1] * 8 + [2] * 10
TWO = {"msb_datacenter": (0, 0), "servers": [(s % 2, 0) for s in range(24)], "domains": [BLOCKS]}


def asked(capacity, *limits, servers=None, **other):
    given = TWO if servers is None else TWO | {"servers": servers}
    snapshot = region(**given, capacity=[capacity], survives=[False], limits=[list(limits)], **other)
    return admit(snapshot, 0)


def test_a_request_is_granted_within_one_domain():
    verdict = asked(9, DomainLimit(kind="kind_0", domains_max=1))
    assert verdict.phase == "granted"
    assert set(np.array(BLOCKS)[verdict.plan.target == 0]) == {2}


@pytest.mark.parametrize(
    ("capacity", "limit", "most", "ways"),
    [
        (12, {"domains_max": 1}, 10, "raise domains_max of kind_0 to 2, or ask for at most 10 RRU"),
        (20, {"domains_max": 1}, 10, "raise domains_max of kind_0 to 3, or ask for at most 10 RRU"),
        (12, {"servers_max": 3}, 9, "raise servers_max of kind_0 to 4, or ask for at most 9 RRU"),
        (12, {"share_max": 0.25}, 9, "raise share_max of kind_0 to 0.334"),
    ],
)
def test_a_refusal_names_the_limit_and_the_least_change_that_is_enough(capacity, limit, most, ways):
    verdict = asked(capacity, DomainLimit(kind="kind_0", **limit))
    assert (verdict.phase, verdict.reason) == ("rejected", "BeyondHardLimits")
    assert f"could have {most} of {capacity} RRU" in verdict.message
    assert ways[1:] in verdict.message


def test_a_shortage_says_which_limit_bars_free_servers():
    servers = [(s % 2, 0, FREE, False, s < 14 or s > 20) for s in range(24)]
    verdict = asked(9, DomainLimit(kind="kind_0", domains_max=1), servers=servers)
    assert (verdict.phase, verdict.numbers["short_rru"]) == ("degraded", 1)
    assert "Without its hard limit domains_max of kind_0 the free servers would be enough" in verdict.message


def test_servers_elsewhere_stay_until_their_domain_has_room():
    servers = [(s % 2, 0, 0 if s < 6 or s in (6, 7) else FREE, False, s < 8) for s in range(24)]
    verdict = asked(8, DomainLimit(kind="kind_0", domains_max=1), servers=servers)
    assert (verdict.phase, verdict.reason) == ("degraded", "OutsideHardLimits")
    assert "2 servers or RRU beyond its limits (in at most 1 domain of the kind kind_0" in verdict.message


@pytest.mark.parametrize(
    ("limit", "reason", "said"),
    [
        ({"domains_max": 1}, "TooManyDomains", "would have 1 server outside of its fullest domains"),
        ({"servers_max": 2}, "DomainServersExceeded", "would have 3 servers in"),
        ({"share_max": 0.5}, "DomainShareExceeded", "in"),
    ],
)
def test_the_check_of_a_plan_names_each_limit(limit, reason, said):
    snapshot = region(**TWO, capacity=[4], survives=[False], limits=[[DomainLimit(kind="kind_0", **limit)]])
    found = plan_target_bindings(snapshot).plan
    target = np.full(24, FREE, np.int32)
    target[[0, 1, 2, 6]] = 0
    [violation] = check_plan(snapshot, replace(found, target=target))
    assert violation.reason == reason
    assert said in violation.message


@pytest.mark.parametrize("limit", [{"domains_max": 1}, {"servers_max": 2}, {"share_max": 0.5}])
def test_no_spare_server_breaks_a_limit(limit):
    """A server of block a fails, and the only spare server is in block b, which has no room."""
    there = () if limit == {"domains_max": 1} else ("server-08", "server-09")

    def plan(*limits):
        web = ReservationSpec(capacity_rru=5, rru={"hw-a": 1.0}, survives_msb_loss=False, domain_limits=limits)
        spare = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)
        failures = failures_snapshot(
            msbs=2,
            servers_per_rack=6,
            reservations={"web": web, "spare": spare},
            kind={"spare": "shared_buffer"},
            current={**dict.fromkeys(("server-00", "server-01", "server-02", *there), "web"), "server-07": "spare"},
            down={"server-00"},
            domains={"block": {f"server-{s:02d}": "ab"[s // 6] for s in range(12)}},
        )
        found = plan_replacements(failures)
        assert check_replacements(failures, found.plan) == []
        return failures, swaps(failures, found.plan.target), found

    _, drawn, free = plan()
    assert drawn == {"server-07": "web", "server-00": "spare"}
    limited, drawn, kept = plan(DomainLimit(kind="block", **limit))
    assert (drawn, kept.verdict) == ({}, (LossVerdict.BUFFER_EMPTY,))
    assert check_replacements(limited, free.plan) != []


def limited(servers, of, *, domains_max=np.inf, servers_max=np.inf, rru_max=np.inf):
    """Build the limits of one reservation that holds `servers` (N,) by domain; none lacks a place."""
    held = np.append(np.array(servers, np.int64), 0)[None]
    return LimitedDomains(
        kind="block",
        placed=len(servers),
        domains_max=np.array([domains_max]),
        servers_max=np.array([servers_max]),
        rru_max=np.array([rru_max]),
        servers=held,
        load=held.astype(float),
        of=np.array(of, np.int32),
        counts=np.ones(len(of), bool),
    )


def settled(changes):
    found = settle(changes, RegionPolicy(), np.zeros(1))
    assert check_committed(changes, found.kept, RegionPolicy(), np.zeros(1)) == []
    return found


def test_a_commit_moves_a_reservation_to_another_domain_as_a_whole_or_not_at_all():
    # It is to leave block 0 for block 1. If one of its servers changed during the solve, that server stays behind.
    rows = [(0, NONE, 0, 1.0), (0, NONE, 0, 1.0), (NONE, 0, 0, 1.0), (NONE, 0, 0, 1.0)]
    whole = replace(
        plan_changes(touched([[2.0]], capacity=[2]), rows), limited=(limited([2, 0], [0, 0, 1, 1], domains_max=1),)
    )
    assert settled(whole).kept.all()
    part = replace(whole, changed=np.array([True, False, False, False]))
    found = settled(part)
    assert found.kept.tolist() == [False] * 4
    assert set(found.why[2:]) == {Why.DOMAIN_LIMIT}
    bad = ~part.changed
    assert "DomainLimitExceeded" in [one.reason for one in check_committed(part, bad, RegionPolicy(), np.zeros(1))]


@pytest.mark.parametrize("limit", [{"servers_max": 2}, {"rru_max": 2.0}])
def test_a_commit_turns_away_what_a_kept_server_leaves_no_room_for(limit):
    rows = [(0, NONE, 0, 1.0), (0, NONE, 0, 1.0, {"changed": True}), (NONE, 0, 0, 1.0), (NONE, 0, 0, 1.0)]
    changes = plan_changes(touched([[4.0]], capacity=[3]), rows)
    changes = replace(changes, limited=(limited([2, 2], [0, 0, 0, 0], **limit),))
    found = settled(changes)
    assert found.kept.tolist() == [True, False, True, False]
    assert found.why[3] == Why.DOMAIN_LIMIT


def test_an_explanation_names_the_limits_that_decide():
    limits = [DomainLimit(kind="kind_0", domains_max=1), DomainLimit(kind="msb", servers_max=2)]
    target = [0 if s in (0, 1, 2, 3) else FREE for s in range(24)]
    servers = [(s % 2, 0, target[s]) for s in range(24)]
    snapshot = region(**(TWO | {"servers": servers}), capacity=[6], survives=[False], limits=[limits])
    found = {(one.name, one.subject): one for one in decide(snapshot, 0, time_s_max=600.0).deciders}
    assert found["ServersMax", "msb"].now.decides
    assert found["ServersMax", "msb"].now.short_rru == 0
    assert found["DomainsMax", "kind_0"].now.decides is False
    assert {"ServersMax", "DomainsMax", "ShareMax"} <= _MEANS.keys()


@pytest.mark.parametrize(
    ("capacity", "reason", "most", "words"),
    [
        (30, "BeyondRegion", 8, "come to 24 of 30 RRU. Of these 8 RRU remain after the loss of any one MSB and"),
        (14, "BeyondMsbLoss", 8, "12 of 14 RRU would be left. Of these 8 RRU remain after the loss of any one MSB and"),
    ],
)
def test_a_refusal_asks_for_no_more_than_losses_and_limits_leave(capacity, reason, most, words):
    """24 servers in two MSBs. The two largest of three blocks have 18 servers, 9 in each MSB."""
    limit = DomainLimit(kind="kind_0", domains_max=2, servers_max=8)
    for asks, phase in ((capacity, "rejected"), (most, "granted"), (most + 1, "rejected")):
        verdict = admit(region(**TWO, capacity=[asks], survives=[True], limits=[[limit]]), 0)
        assert verdict.phase == phase
        if asks == capacity:
            assert verdict.reason == reason
            assert words in verdict.message
            assert "Ask for at most these, allow more types" in verdict.message


def test_a_refusal_shows_no_residue_of_a_linear_program_and_a_single_way_without_either():
    """Within one domain nothing remains after the loss of a domain of that kind."""
    limit = DomainLimit(kind="msb", domains_max=1)
    verdict = admit(region(**TWO, capacity=[3], survives=[True], limits=[[limit]]), 0)
    assert verdict.reason == "BeyondHardLimits"
    assert "could have 0 of 3 RRU. Raise domains_max of msb to 2." in verdict.message
    assert verdict.numbers["most_rru"] == 0


def test_no_number_of_domains_is_named_where_servers_without_a_place_are_needed():
    """2 servers are in a block, and 8 in none. Servers without a place are outside of every domain."""
    snapshot = region(
        servers=[(0, 0)] * 10,
        domains=[[0] * 2 + [UNPLACED] * 8],
        capacity=[5],
        survives=[False],
        limits=[[DomainLimit(kind="kind_0", domains_max=1)]],
    )
    verdict = admit(snapshot, 0)
    assert (verdict.phase, verdict.reason) == ("rejected", "BeyondHardLimits")
    assert verdict.message.endswith("Either do without domains_max of kind_0, or ask for at most 2 RRU.")
