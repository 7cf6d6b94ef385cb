"""Shares of datacenters that follow the holdings of another reservation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libs.domain.followed_shares import followed_shares, following, with_followed_shares
from libs.domain.reservation import ReservationSpec
from tests.builders.region import fleet_snapshot

PLACES = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 6)), min_size=1, max_size=5)


@given(PLACES)
def test_servers_at_these_shares_and_even_over_the_msbs_survive_the_loss_of_any(places: list[tuple[int, int]]) -> None:
    held, msbs = np.array(places).T
    share = followed_shares(held.astype(float), msbs, survives_msb_loss=True)
    if share is None:
        assert not held.any()
        return
    fullest = (share / msbs).max()
    alone = np.count_nonzero(held) == 1 and msbs[held.argmax()] == 1
    assert share.sum() - fullest == pytest.approx(0.0 if alone else 1.0, abs=1e-5)
    assert share.sum() <= 2 + 1e-5
    if (held / msbs).max() * 2 <= held.sum():
        np.testing.assert_allclose(share / share.sum(), held / held.sum(), atol=1e-5)


def test_a_datacenter_of_one_msb_gets_no_more_than_the_capacity() -> None:
    share = followed_shares(np.array([99.0, 0.5, 0.5]), np.array([1, 2, 2]), survives_msb_loss=True)
    assert share is not None
    assert share.tolist() == [1.0, 0.5, 0.5]


def test_shares_that_need_not_survive_add_up_to_the_capacity() -> None:
    share = followed_shares(np.array([6.0, 2.0]), np.array([2, 2]), survives_msb_loss=False)
    assert share is not None
    assert share.tolist() == [0.75, 0.25]


def of(snapshot, **spec) -> dict[str, float]:
    given = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0}, survives_msb_loss=False, **spec)
    return dict(following(snapshot, given).affinity)


def test_a_spec_takes_the_shares_of_the_targets_of_the_other_one() -> None:
    specs = {"storage": ReservationSpec(capacity_rru=4, rru={"hw-a": 2.0})}
    target = {"server-00": "storage", "server-01": "storage", "server-02": "storage", "server-04": "storage"}
    snapshot = fleet_snapshot(datacenters=2, reservations=specs, target=target)
    assert of(snapshot, affinity_follows="storage") == {"dc-00": 0.75, "dc-01": 0.25}
    assert of(snapshot, affinity={"dc-00": 0.4}) == {"dc-00": 0.4}
    assert of(snapshot, affinity_follows="gone", affinity={"dc-00": 0.4}) == {"dc-00": 0.4}


def test_the_shares_stay_while_the_other_one_holds_nothing() -> None:
    specs = {
        "storage": ReservationSpec(capacity_rru=4, rru={"hw-a": 2.0}),
        "web": ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0}, affinity={"dc-01": 0.5}, affinity_follows="storage"),
    }
    follows = np.array([None, "storage"], object)
    empty = fleet_snapshot(datacenters=2, reservations=specs)
    np.testing.assert_array_equal(with_followed_shares(empty, follows).reservations.affinity_share[1], [np.nan, 0.5])
    held = fleet_snapshot(datacenters=2, reservations=specs, target={"server-00": "storage"})
    share = with_followed_shares(held, follows).reservations.affinity_share
    assert np.isnan(share[0]).all()
    assert share[1].tolist() == [1.0, 0.0]
