"""Test that processes of two versions can share a stored policy."""

from dataclasses import asdict, fields

import pytest

from libs.domain.policy import RegionPolicy
from libs.domain.stored_policy import UnknownPrices, changed, of_stored, to_stored

DEFAULTS = {
    "move_cost_idle": 1.0,
    "move_cost_in_use": 10.0,
    "spread_cost": 2.0,
    "buffer_cost": 5.0,
    "locality_cost": 50.0,
    "affinity_tolerance": 0.05,
    "shortfall_cost": 1000.0,
    "affinity_cost": 500.0,
    "power_balance_cost": 0.0,
    "uplink_cost": 5.0,
    "shared_buffer_share": 0.0,
    "surplus_cost": 12.0,
    "daily_churn_share": 0.02,
    "solve_churn_share": 0.01,
    "reservation_churn_share": 0.1,
    "rack_phase_share": 0.1,
    "rebuild_after_s": 14400.0,
    "booking_horizon_s": 3024000.0,
    "booking_lead_s": 3600.0,
    "fix_first": True,
}
"""A stored policy leaves these out. To change one here changes regions: ADR 0060 says what to do first."""


def test_defaults_are_left_out_and_do_not_change() -> None:
    assert asdict(RegionPolicy()) == DEFAULTS
    assert to_stored(RegionPolicy()) == {}
    assert to_stored(RegionPolicy(buffer_cost=7.0, fix_first=False)) == {"buffer_cost": 7.0, "fix_first": False}


def test_every_policy_comes_back_as_it_was_stored() -> None:
    other = {one.name: (not one.default if isinstance(one.default, bool) else one.default + 0.5) for one in _fields()}
    for policy in (RegionPolicy(), RegionPolicy(**other)):
        assert of_stored(to_stored(policy)) == (policy, {})
        assert of_stored(asdict(policy)) == (policy, {}), "as versions before this one stored it"


def test_what_is_not_known_is_kept_apart() -> None:
    stored = {"buffer_cost": 7.0, "moon_cost": 3.0}
    policy, unknown = of_stored(stored)
    assert (policy, unknown) == (RegionPolicy(buffer_cost=7.0), {"moon_cost": 3.0})
    assert to_stored(policy, unknown) == stored


def test_a_change_of_what_is_not_known_is_refused_by_name() -> None:
    assert changed("west", RegionPolicy(), {"buffer_cost": 7.0}) == RegionPolicy(buffer_cost=7.0)
    with pytest.raises(UnknownPrices, match="region west sets moon_cost"):
        changed("west", RegionPolicy(), {"buffer_cost": 7.0, "moon_cost": 3.0})


def _fields() -> list:  # type: ignore[type-arg]
    return list(fields(RegionPolicy))
