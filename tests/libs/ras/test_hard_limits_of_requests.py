"""Requests, replacements and commits keep to hard limits, and refusals name the smallest ways out."""

from dataclasses import replace

import numpy as np
import pytest

from libs.domain.domain_limits import DomainLimit
from libs.domain.plan_changes import NONE
from libs.domain.policy import RegionPolicy
from libs.domain.replacement import LossVerdict
from libs.domain.reservation import ReservationSpec
from libs.plan_check.committed import check_committed
from libs.plan_check.replacement import check_replacements
from libs.ras import admission
from libs.ras.admission import admit
from libs.ras.committable_changes import Why, settle
from libs.ras.explain.deciders import decide
from libs.ras.hard_limits import most_met
from libs.ras.largest_possible import potential_of
from libs.ras.replacement import plan_replacements
from tests.builders.failures import failures_snapshot, swaps
from tests.builders.plan_changes import plan_changes, touched
from tests.builders.random_region import region

FOUR = [(m, 0) for m in range(4) for _ in range(5)]


def asked(capacity, *, servers=FOUR, **limits):
    return admit(
        region(msb_datacenter=(0, 0, 1, 2), servers=servers, capacity=[capacity], survives=[False], **limits), 0
    )


def test_a_request_within_its_limits_is_granted_within_them():
    verdict = asked(8, msb_share_max=[0.5], allowed=[[True, False, False]])
    assert verdict.phase == "granted"
    assert np.bincount(np.repeat(np.arange(4), 5)[verdict.plan.target == 0], minlength=4).tolist() == [4, 4, 0, 0]


@pytest.mark.parametrize(
    ("capacity", "limits", "most", "ways"),
    [
        (12, {"allowed": [[True, False, False]]}, 10, "allow dc-1 or dc-2 too, or ask for at most 10 RRU"),
        (18, {"allowed": [[True, False, False]]}, 10, "allow every datacenter, or ask for at most 10 RRU"),
        (10, {"msb_share_max": [0.2]}, 8, "raise msb_share_max to 0.3"),
        (
            10,
            {"msb_share_max": [0.4], "allowed": [[True, False, False]]},
            8,
            "allow dc-1 or dc-2 too, or raise msb_share_max to 0.5",
        ),
        (
            20,
            {"msb_share_max": [0.2], "allowed": [[True, False, False]]},
            8,
            "do without these limits",
        ),
    ],
)
def test_a_refusal_names_the_smallest_ways_out(capacity, limits, most, ways):
    verdict = asked(capacity, **limits)
    assert (verdict.phase, verdict.reason) == ("rejected", "BeyondHardLimits")
    assert f"could have {most} of {capacity} RRU" in verdict.message
    assert ways[1:] in verdict.message


@pytest.mark.parametrize(("possible", "at_most", "most", "asks"), [(3.25, np.inf, 3.25, 14), (3.25, 3.25, 3.25, 1)])
def test_the_largest_capacity_takes_few_questions(possible, at_most, most, asks):
    """Each question may be a program of whole numbers. A region of 800 servers once answered 51 of them in 7 s."""
    snapshot = region(msb_datacenter=(0,), servers=[(0, 0)] * 20, capacity=[8], survives=[False])
    asked_for = []

    def met(other):
        asked_for.append(other.reservations.capacity_rru[0])
        return asked_for[-1] <= possible

    assert most_met(snapshot, 0, met, at_most=at_most) == most
    assert len(asked_for) <= asks


def test_a_limit_that_lets_nothing_survive_asks_no_smaller_size(monkeypatch):
    """Servers of one MSB never survive its loss. Only the larger numbers of MSBs are asked."""
    questions = []
    monkeypatch.setattr(admission, "potential_of", lambda snapshot, r: questions.append(r) or potential_of(snapshot, r))
    limit = DomainLimit(kind="msb", domains_max=1)
    snapshot = region(msb_datacenter=(0, 0, 1, 2), servers=FOUR, capacity=[5], survives=[True], limits=[[limit]])
    verdict = admit(snapshot, 0)
    assert "could have 0 of 5 RRU. Raise domains_max of msb to 2." in verdict.message
    assert len(questions) <= 10


def test_what_no_limit_decides_has_its_own_reason():
    assert asked(21, msb_share_max=[0.5]).reason == "BeyondRegion"


def test_a_shortage_says_which_limit_bars_free_servers():
    servers = [(m, 0) if m > 1 or k < 2 else (m, 0, -1, False, False) for m in range(4) for k in range(5)]
    verdict = asked(8, servers=servers, allowed=[[True, False, False]])
    assert (verdict.phase, verdict.numbers["short_rru"]) == ("degraded", 4)
    assert "Without its hard limit datacenters the free servers would be enough" in verdict.message


def test_servers_outside_a_new_limit_stay_until_others_are_free():
    verdict = asked(
        6, servers=[(2, 0, 0)] * 6 + [(0, 0)] * 4 + [(1, 0, -1, False, False)] * 4, allowed=[[True, False, True]]
    )
    assert (verdict.phase, verdict.reason) == ("degraded", "OutsideHardLimits")
    assert verdict.numbers["servers_outside"] == 2


def test_no_spare_server_breaks_a_hard_limit():
    def plan(**limits):
        web = ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, survives_msb_loss=False, **limits)
        spare = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)
        failures = failures_snapshot(
            datacenters=2,
            msbs=2,
            servers_per_rack=6,
            reservations={"web": web, "spare": spare},
            kind={"spare": "shared_buffer"},
            current={"server-00": "web", "server-01": "web", "server-06": "web", "server-07": "spare"},
            down={"server-00"},
        )
        found = plan_replacements(failures)
        assert check_replacements(failures, found.plan) == []
        return failures, swaps(failures, found.plan.target), found.verdict

    failures, drawn, _ = plan()
    assert drawn == {"server-07": "web", "server-00": "spare"}
    for limits, reason in (
        ({"datacenters": ("dc-00",)}, "DatacenterNotAllowed"),
        ({"msb_share_max": 0.5}, "MsbShareExceeded"),
    ):
        limited, drawn, verdicts = plan(**limits)
        assert (drawn, verdicts) == ({}, (LossVerdict.BUFFER_EMPTY,))
        free = plan_replacements(failures).plan
        assert [one.reason for one in check_replacements(limited, free)] == [reason]


def test_a_commit_turns_away_what_a_kept_server_leaves_no_room_for():
    # r0 exchanges two servers in its first MSB, at its limit. One that was to leave has changed, so one stays away.
    rows = [(0, NONE, 0, 1.0), (0, NONE, 0, 1.0, {"changed": True}), (NONE, 0, 0, 1.0), (NONE, 0, 0, 1.0)]
    changes = plan_changes(touched([[2.0, 2.0]], capacity=[3], msb_limit=[2.0]), rows)
    settled = settle(changes, RegionPolicy(), np.zeros(1))
    assert check_committed(changes, settled.kept, RegionPolicy(), np.zeros(1)) == []
    assert settled.kept.tolist() == [True, False, True, False]
    assert settled.why[3] == Why.MSB_SHARE
    all_kept = ~changes.changed
    assert [one.reason for one in check_committed(changes, all_kept, RegionPolicy(), np.zeros(1))] == [
        "MsbShareExceeded"
    ]


def test_an_explanation_names_the_limits_that_decide():
    snapshot = region(
        msb_datacenter=(0, 0, 1, 1),
        servers=[(0, 0, 0), (1, 0, 0), (2, 0), (3, 0)],
        capacity=[2],
        survives=[False],
        msb_share_max=[0.5],
        allowed=[[True, False]],
    )
    found = {one.name: one for one in decide(snapshot, 0, time_s_max=600.0).deciders}
    assert {"MsbShareMax", "Datacenters"} <= found.keys()
    alone = replace(snapshot, reservations=replace(snapshot.reservations, msb_share_max=np.array([np.inf])))
    assert "MsbShareMax" not in {one.name for one in decide(alone, 0, time_s_max=600.0).deciders}
