"""The rule of the quota is exact."""

import math

from hypothesis import given
from hypothesis import strategies as st

from libs.domain.quota import Quota
from services.portal.quota_rule import exceeds_quota, excess_in_words

AMOUNTS = st.floats(0, 1e6)


def quota(limit_cost_units: float | None, used_cost_units: float = 0.0, pending_cost_units: float = 0.0) -> Quota:
    return Quota(
        region="west",
        owner="team",
        limit_cost_units=limit_cost_units,
        used_cost_units=used_cost_units,
        pending_cost_units=pending_cost_units,
        generation=1,
    )


@given(used=AMOUNTS, pending=AMOUNTS, asked=st.floats(1e-6, 1e6))
def test_the_last_bit_counts(used: float, pending: float, asked: float) -> None:
    limit = used + pending + asked
    assert not exceeds_quota(quota(limit, used, pending), asked=asked, had=0.0)
    assert exceeds_quota(quota(math.nextafter(limit, 0.0), used, pending), asked=asked, had=0.0)


def test_less_is_never_refused_and_no_limit_is_none() -> None:
    assert not exceeds_quota(quota(1, used_cost_units=5), asked=3, had=3)
    assert exceeds_quota(quota(1, used_cost_units=5), asked=3.5, had=3)
    assert not exceeds_quota(quota(None, used_cost_units=5), asked=1e9, had=0)


def test_what_is_in_use_leaves_out_the_reservation_that_a_resize_changes() -> None:
    """`plimsoll quota` shows more in use: the units of this one count there."""
    message, _ = excess_in_words(quota(200, used_cost_units=169), asked=62)
    assert "169 are in use beside this, and this may come to hold 62" in message
