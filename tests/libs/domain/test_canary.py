"""A canary chooses by name, keeps its choice as its share grows, and changes prices of the chosen alone."""

import numpy as np
import pytest

from libs.domain.canary import PER_RESERVATION, Canary
from libs.domain.policy import RegionPolicy

NAMES = [f"service-{k}" for k in range(2000)]


def canary(share: float, salt: str = "7") -> Canary:
    return Canary(policy=RegionPolicy(buffer_cost=9.0), share=share, salt=salt)


def test_a_larger_share_keeps_the_reservations_of_a_smaller_one() -> None:
    small, large = canary(0.1).chosen(NAMES), canary(0.3).chosen(NAMES)
    assert (large | ~small).all()
    assert 150 < small.sum() < 250
    assert 520 < large.sum() < 680


def test_the_choice_depends_on_name_and_salt_and_not_on_the_others() -> None:
    whole = canary(0.5).chosen(NAMES)
    assert np.array_equal(canary(0.5).chosen(NAMES[::-1]), whole[::-1])
    assert not np.array_equal(canary(0.5, "8").chosen(NAMES), whole)


def test_it_goes_through_json() -> None:
    assert Canary.of_dict(canary(0.25).as_dict()) == canary(0.25)
    for wrong in ({}, {"policy": 1, "share": 0.5, "salt": ""}, {"policy": {"bufer_cost": 1}, "share": 0.5, "salt": ""}):
        with pytest.raises((KeyError, TypeError, ValueError)):
            Canary.of_dict(wrong)


def test_its_fields_are_fields_of_a_policy() -> None:
    assert set(PER_RESERVATION) <= set(RegionPolicy.__dataclass_fields__)
