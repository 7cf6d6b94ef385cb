"""A what-if sets limits on power, and tells what its domains have to spare. Free servers are handed out within them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.domain.fleet import FREE, TargetPlan
from libs.domain.power_use import beyond_w, feedable, gains_w
from libs.domain.simulation import NewRacks, PowerLimitChange, WhatIf, what_if_of
from libs.domain.what_if import UnknownName, imagine
from libs.plan_check.power_limits import check_power
from libs.ras.difference import difference
from libs.ras.estimate import estimate
from libs.ras.power_report import compare_power
from libs.ras.solve import plan_target_bindings
from tests.builders.random_region import region
from tests.libs.ras.test_power import SMALL, drawn_by_definition, powered, tiny

SERVERS = [(m, 0, 0 if k < 2 else FREE) for m in range(2) for k in range(6)]
"""Two MSBs with 2 servers of r0 and 4 free ones each: 1,000 W in each, and 1,800 W in full."""


def two_msbs(*limits, capacity=4.0):
    return powered(region(msb_datacenter=(0, 0), servers=SERVERS, capacity=[capacity], survives=[False]), *limits)


def limited(*changes, **what_if) -> WhatIf:
    power_limits = tuple(PowerLimitChange(**change) for change in changes)
    return WhatIf(policy={}, power_limits=power_limits, **what_if)


def test_a_limit_replaces_that_of_its_domain_and_keeps_its_headroom() -> None:
    before = two_msbs(("MSB", "msb-0", 2000.0, 0.2))
    imagined = imagine(
        before,
        limited(
            {"kind": "MSB", "domain": "msb-0", "limit_w": 1500.0}, {"kind": "MSB", "domain": "msb-1", "limit_w": 900.0}
        ),
        {},
    )
    assert [(one.domain, one.limit_w, one.headroom) for one in imagined.power.limits] == [
        ("msb-0", 1500.0, 0.2),
        ("msb-1", 900.0, 0.0),
    ]
    other = imagine(before, limited({"kind": "MSB", "domain": "msb-0", "limit_w": 1500.0, "headroom": 0.0}), {})
    assert other.power.limits[0].headroom == 0.0
    without = replace(before, power=None)
    assert imagine(without, limited({"kind": "MSB", "domain": "msb-0", "limit_w": 1.0}), {}).power.limits


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"kind": "row", "domain": "msb-0"}, "power_limits[0].kind"),
        ({"kind": "MSB", "domain": "x"}, "power_limits[0].domain"),
    ],
)
def test_a_name_that_the_region_lacks_is_said(change: dict, field: str) -> None:
    with pytest.raises(UnknownName) as unknown:
        imagine(two_msbs(), limited(change | {"limit_w": 1.0}), {})
    assert unknown.value.field == field


def test_a_stored_what_if_of_an_older_version_has_no_limits() -> None:
    asked = limited({"kind": "MSB", "domain": "msb-0", "limit_w": 1500.0})
    assert what_if_of(asked.as_dict()) == asked
    older = asked.as_dict()
    del older["power_limits"]
    assert what_if_of(older) == WhatIf(policy={})
    assert asked.not_decisions == ("power_limits",)


def test_it_tells_what_each_limited_domain_has_to_spare_now_at_once_and_after() -> None:
    before = two_msbs(("MSB", "msb-1", 5000.0), capacity=11.0)
    racks = NewRacks(msb="msb-1", hardware_type=str(before.hardware_types[0]), racks=1, servers_per_rack=2)
    asked = limited({"kind": "MSB", "domain": "msb-0", "limit_w": 1500.0, "headroom": 0.2}, add_racks=(racks,))
    imagined = imagine(before, asked, {})
    found = plan_target_bindings(imagined).plan
    report = difference(before, imagined, found.target)
    assert report.power_limits == 2
    first, second = report.power
    assert (first.domain, first.limit_w_now, first.free_w_now, first.limit_w, first.headroom) == (
        "msb-0", None, None, 1500.0, 0.2
    )  # fmt: skip
    assert (first.drawn_w_now, first.free_w_at_once, first.drawn_w_after, first.free_w_after) == (1000, 200, 1200, 0)
    assert (second.domain, second.free_w_now, second.free_w_at_once) == ("msb-1", 4000, 3800)
    assert (second.drawn_w_at_once, second.drawn_w_after) == (1200, 2400)
    assert compare_power(replace(before, power=None), imagined, found.target)[0].drawn_w_now == 1000
    assert compare_power(before, replace(imagined, power=None), found.target) == ()


def test_a_lower_limit_is_repaired_by_the_answer() -> None:
    before = two_msbs()
    imagined = imagine(before, limited({"kind": "MSB", "domain": "msb-0", "limit_w": 800.0}), {})
    [one] = difference(before, imagined, plan_target_bindings(imagined).plan.target).power
    assert (one.free_w_at_once, one.free_w_after) == (-200, 0)


@SMALL
@given(tiny(servers_max=8))
def test_its_figures_are_those_of_every_server(snapshot) -> None:
    target = np.maximum(snapshot.servers.target, FREE)
    plan = plan_target_bindings(snapshot).plan.target
    nobody = replace(snapshot, servers=replace(snapshot.servers, current=np.full(len(target), FREE, np.int32)))
    gone = replace(nobody, servers=replace(nobody.servers, target=np.full(len(target), FREE, np.int32)))
    for one in compare_power(snapshot, snapshot, plan):
        place = (one.kind, one.domain)
        assert one.drawn_w_after == pytest.approx(drawn_by_definition(gone, *place, plan))
        if (snapshot.servers.target >= FREE).all():
            assert one.drawn_w_now == pytest.approx(drawn_by_definition(nobody, *place, target))


@settings(SMALL)
@given(tiny(servers_max=12), st.randoms())
def test_servers_that_may_join_at_once_break_no_limit_and_one_more_would(snapshot, random) -> None:
    rows = np.flatnonzero((snapshot.servers.target < 0) & snapshot.servers.lasting).astype(np.int32)
    random.shuffle(rows)
    rows = rows[np.argsort(gains_w(snapshot)[rows], kind="stable")]
    fits = feedable(snapshot, rows)
    target = np.full(len(snapshot.servers), FREE, np.int32)
    target[rows[fits]] = 0
    assert not beyond_w(snapshot, target).any()
    for row in rows[~fits]:
        one_more = target.copy()
        one_more[row] = 0
        assert beyond_w(snapshot, one_more).any()


def test_an_estimate_keeps_a_limit_that_a_simulation_would_keep() -> None:
    before = two_msbs(capacity=4.0)
    grown = replace(before, reservations=replace(before.reservations, capacity_rru=np.array([12.0])))
    limit = limited(
        {"kind": "MSB", "domain": "msb-0", "limit_w": 1400.0}, {"kind": "MSB", "domain": "msb-1", "limit_w": 1300.0}
    )
    imagined = imagine(grown, limit, {})
    found = estimate(before, imagined)
    assert (found.taken_servers, found.with_free.shortfall_rru) == (3, 5)
    assert [(one.domain, one.free_w_at_once) for one in found.power] == [("msb-1", 300), ("msb-0", 400)]
    assert found.power_limits == 2
    [kind] = found.hardware_types
    assert (kind.free_at_once, kind.taken) == (8, 3)
    solved = plan_target_bindings(imagined).plan
    assert [*check_power(imagined, solved.target)] == []
    assert int((solved.target == 0).sum()) == 7
    assert [*check_power(imagined, TargetPlan(target=np.zeros(12, np.int32), parent_plan_id=None).target)]
