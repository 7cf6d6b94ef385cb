"""Free servers go to the reservations that are short, and are enough whenever they can be."""

import numpy as np
import pytest
from hypothesis import given

from libs.domain.fleet import FREE
from libs.ras.evaluate import coverage_of
from libs.ras.free_servers import Handout, hand_out
from tests.builders.random_region import region, regions

FREE_IN = [(m, 0) for m in (0, 0, 1, 1, 2, 2)]
"""Two free servers in each of three MSBs."""


def handed(snapshot) -> Handout:
    return hand_out(snapshot, coverage_of(snapshot, np.maximum(snapshot.servers.target, FREE)))


@given(regions(servers_max=12, reservations_max=3))
def test_no_more_than_is_free_goes_to_those_who_lack_it(snapshot) -> None:
    covered = coverage_of(snapshot, np.maximum(snapshot.servers.target, FREE))
    found = hand_out(snapshot, covered)
    assert (found.taken.sum(0) <= found.free).all()
    assert not found.taken[snapshot.reservations.rru == 0].any()
    whole = covered.shortfall <= 1e-9 * snapshot.reservations.capacity_rru
    assert not found.taken[whole].any()
    assert (found.short_rru <= covered.shortfall + 1e-9).all()


@given(regions(servers_max=12, reservations_max=1))
def test_one_that_stays_short_would_be_short_with_all_free_servers(snapshot) -> None:
    stay = np.maximum(snapshot.servers.target, FREE)
    usable = snapshot.servers.lasting & (stay == FREE)
    everything = coverage_of(snapshot, np.where(usable, 0, stay))
    found = handed(snapshot)
    assert found.short_rru[0] == pytest.approx(everything.shortfall[0], abs=1e-6)


def test_the_higher_priority_comes_first_and_then_the_larger_lack() -> None:
    rest = {"servers": FREE_IN, "survives": [False] * 3}
    found = handed(region(capacity=[4, 4, 4], priority=[1, 3, 2], **rest))
    assert found.taken[:, 0].tolist() == [0, 4, 2]
    held = [*FREE_IN[:4], (2, 0, 0), (2, 0, 1), (2, 0, 1)]
    found = handed(region(servers=held, capacity=[5, 5], survives=[False] * 2))
    assert found.taken[:, 0].tolist() == [4, 0], "0 lacks 4 of 5, and 1 lacks 3"


def test_a_survivor_takes_no_server_that_only_its_largest_msb_would_hold() -> None:
    found = handed(region(servers=[(0, 0)] * 5 + [(1, 0)], capacity=[3]))
    assert found.taken.tolist() == [[2]]
    assert found.short_rru.tolist() == [2]


def test_it_takes_the_best_type_of_an_msb() -> None:
    servers = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 1)]
    found = handed(region(types=2, servers=servers, capacity=[4], rru=[[1.0, 2.0]]))
    assert found.taken.tolist() == [[0, 3]]


@pytest.mark.parametrize(
    ("rest", "taken", "short"),
    [
        ({"allowed": [[False, True]]}, 2, 2),
        ({"msb_share_max": [0.25]}, 3, 1),
        ({"msb_share_max": [0.5]}, 4, 0),
    ],
)
def test_hard_limits_are_kept(rest, taken, short) -> None:
    found = handed(region(servers=FREE_IN, capacity=[4], survives=[False], **rest))
    assert (found.taken.sum(), found.short_rru[0]) == (taken, short)


def test_no_promise_by_a_further_kind_of_domain_is_called_kept() -> None:
    one_block = {"domains": [[0] * 6], "survives_loss_of": [[True], [False]]}
    found = handed(region(servers=FREE_IN, capacity=[2, 2], survives=[False] * 2, **one_block))
    assert found.taken[:, 0].tolist() == [0, 2]
    assert found.short_rru.tolist() == [2, 0], "all servers are of one domain, so its loss takes them all"
