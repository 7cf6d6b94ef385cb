"""A what-if sets limits on uplinks and other traffic, and tells which racks are above their limits."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.domain.fleet import FREE
from libs.domain.simulation import NewRacks, TrafficChange, UplinkLimitChange, WhatIf, what_if_of
from libs.domain.uplinks import uplinks_cost
from libs.domain.what_if import UnknownName, imagine
from libs.ras.difference import difference
from libs.ras.estimate import estimate
from libs.ras.power_report import SHOWN_MAX
from libs.ras.simulation_report import SimulationReport, report_as_json, report_of_json
from libs.ras.solve import plan_target_bindings
from libs.ras.uplink_report import compare_uplinks
from tests.libs.domain.test_uplinks import above_by_hand, sending
from tests.libs.ras.phases.test_uplinks import one_hot_rack

OWNED = {"r0": "team"}


def asked(
    *limits: tuple[str | None, float], traffic: float | None = None, add_racks: tuple[NewRacks, ...] = ()
) -> WhatIf:
    return WhatIf(
        policy={},
        uplink_limits=tuple(UplinkLimitChange(rack=rack, limit_gbit=gbit) for rack, gbit in limits),
        traffic=() if traffic is None else (TrafficChange(reservation="r0", gbit_per_rru=traffic),),
        add_racks=add_racks,
    )


def test_named_racks_get_a_limit_and_the_others_keep_theirs_or_get_the_common_one() -> None:
    before = one_hot_rack()
    racks = NewRacks(msb="msb-0", hardware_type="hw-0", racks=1, servers_per_rack=1)
    for what_if, limits in (
        (asked(("rack-1", 7.0)), [20, 7]),
        (asked((None, 9.0)), [9, 9]),
        (asked(("rack-1", 7.0), (None, 9.0)), [9, 7]),
        (asked(("rack-1", 7.0), add_racks=(racks,)), [20, 7, np.inf]),
        (asked((None, 9.0), add_racks=(racks,)), [9, 9, 9]),
    ):
        assert imagine(before, what_if, OWNED).uplinks.tolist() == limits
    assert imagine(replace(before, uplinks=None), asked(("rack-0", 7.0)), OWNED).uplinks.tolist() == [7, np.inf]
    assert before.uplinks.tolist() == [20, 20]


def test_a_reservation_sends_otherwise() -> None:
    before = one_hot_rack()
    assert imagine(before, asked(traffic=2.5), OWNED).reservations.gbit_per_rru.tolist() == [2.5]
    assert before.reservations.gbit_per_rru.tolist() == [10]


@pytest.mark.parametrize(
    ("what_if", "owned", "field"),
    [
        (asked(("rack-0", 1.0), ("rack-9", 1.0)), OWNED, "uplink_limits[1].rack"),
        (asked(traffic=1.0), {}, "traffic[0].reservation"),
    ],
)
def test_a_name_that_the_region_lacks_is_said(what_if: WhatIf, owned: dict[str, str], field: str) -> None:
    with pytest.raises(UnknownName) as unknown:
        imagine(one_hot_rack(), what_if, owned)
    assert unknown.value.field == field


def test_a_stored_what_if_of_an_older_version_has_none() -> None:
    what_if = asked((None, 9.0), ("rack-1", 7.0), traffic=2.0)
    assert what_if_of(json.loads(json.dumps(what_if.as_dict()))) == what_if
    older = what_if.as_dict()
    del older["uplink_limits"], older["traffic"]
    assert what_if_of(older) == WhatIf(policy={})
    assert what_if.not_decisions == ("uplink_limits", "traffic")


def test_it_tells_which_racks_are_above_now_at_once_and_after() -> None:
    before = one_hot_rack()
    imagined = imagine(before, asked(("rack-1", 30.0), traffic=11.0), OWNED)
    target = plan_target_bindings(imagined).plan.target
    found = difference(before, imagined, target)
    report = found.uplinks
    assert report is not None
    assert (report.limits, report.now.racks, report.now.gbit) == (2, 1, 20)
    assert (report.at_once.racks, report.at_once.gbit) == (1, 24)
    sent = [11.0 * int((target[before.servers.rack == k] == 0).sum()) for k in range(2)]
    assert report.after.gbit == max(0, sent[0] - 20) + max(0, sent[1] - 30) < 24, "the solve relieves the rack"
    changed, other = report.racks
    assert (changed.rack, changed.limit_gbit_now, changed.limit_gbit) == ("rack-1", 20, 30)
    assert (other.rack, other.sent_gbit_now, other.free_gbit_now) == ("rack-0", 40, -20)
    assert (other.sent_gbit_at_once, other.free_gbit_at_once) == (44, -24)
    assert (other.sent_gbit_after, changed.sent_gbit_after) == tuple(sent)
    quick = estimate(before, imagined).uplinks
    assert (quick.now, quick.at_once) == (report.now, report.at_once)
    stored = SimulationReport(difference=found, refused=(), solve={})
    document = json.loads(json.dumps(report_as_json(stored)))
    assert report_of_json(document) == stored
    del document["uplinks"]["racks"]
    assert report_as_json(report_of_json(document))["uplinks"] == document["uplinks"]
    del document["uplinks"]
    assert report_of_json(document).difference.uplinks is None


def test_without_limits_nothing_is_said_and_a_new_limit_has_none_before() -> None:
    before = one_hot_rack(uplinks=None)
    stay = before.servers.target
    assert compare_uplinks(before, before, stay) is None
    found = compare_uplinks(before, imagine(before, asked(("rack-0", 30.0)), OWNED), stay)
    [rack] = found.racks
    assert (rack.limit_gbit_now, rack.free_gbit_now, rack.sent_gbit_now) == (None, None, 40)
    assert (found.limits, found.now.gbit, found.at_once.gbit) == (1, 0, 10)


def test_a_limit_can_be_lifted_of_one_rack_or_of_all() -> None:
    before = one_hot_rack()
    stay = before.servers.target
    one = imagine(before, asked(("rack-0", None)), OWNED)
    found = compare_uplinks(before, one, stay)
    lifted, other = found.racks
    assert (lifted.rack, lifted.limit_gbit_now, lifted.limit_gbit) == ("rack-0", 20, None)
    assert (lifted.free_gbit_now, lifted.free_gbit_at_once, lifted.free_gbit_after) == (-20, None, None)
    assert (other.limit_gbit, found.limits, found.now.racks, found.at_once.racks) == (20, 1, 1, 0)
    every = imagine(before, asked((None, None)), OWNED)
    assert uplinks_cost(before, stay) > uplinks_cost(every, stay) == 0
    found = compare_uplinks(before, every, stay)
    assert ([one.limit_gbit for one in found.racks], found.limits) == ([None, None], 0)
    kept = imagine(before, asked((None, None), ("rack-1", 7.0)), OWNED)
    assert kept.uplinks.tolist() == [np.inf, 7]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_its_sums_are_those_of_every_server(seed: int) -> None:
    rng = np.random.default_rng(seed)
    before = sending(rng)
    imagined = replace(before, uplinks=np.where(rng.random(len(before.uplinks)) < 0.5, before.uplinks, 3.0))
    target = rng.integers(-1, len(before.reservations), len(before.servers)).astype(np.int32)
    found = compare_uplinks(before, imagined, target)
    if found is None:
        assert not np.isfinite(imagined.uplinks).any()
        return
    present = np.maximum(before.servers.target, FREE)
    for one, snapshot, binding in (
        (found.now, before, present),
        (found.at_once, imagined, present),
        (found.after, imagined, target),
    ):
        above = above_by_hand(snapshot, binding)
        assert one.gbit == pytest.approx(sum(above))
        assert one.racks == sum(gbit > 1e-6 for gbit in above)
    assert len(found.racks) == min(found.limits, SHOWN_MAX)
    changed = [one.limit_gbit_now != one.limit_gbit for one in found.racks]
    assert changed == sorted(changed, reverse=True), "changed limits come first"
