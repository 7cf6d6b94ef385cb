"""A clock that ends a solve early costs quality, and not promises."""

from dataclasses import replace
from threading import Event

import numpy as np
import pytest

from libs.assignment import Limits
from libs.assignment.solvers.portfolio import phases, relaxing
from libs.assignment.solvers.portfolio.relaxation import Relaxation
from libs.domain.fleet import FREE
from libs.domain.policy import RegionPolicy
from libs.ras.solve import plan_target_bindings
from tests.builders.random_region import region

RESERVATIONS, SERVERS, MSBS = 30, 900, 6


def region_that_is_short(rng: np.random.Generator, *, fix_first: bool):
    """Return a region in which most reservations hold half of what they want, and servers for all of them are free."""
    servers = [
        (int(rng.integers(2 * MSBS)), int(rng.integers(3)), int(rng.integers(RESERVATIONS)) if s % 3 == 0 else FREE)
        for s in range(SERVERS)
    ]
    return region(
        msb_datacenter=tuple(m * 2 // MSBS for m in range(MSBS)),
        racks_per_msb=2,
        types=3,
        servers=servers,
        capacity=np.round(rng.uniform(5, 35, RESERVATIONS), 1),
        rru=np.round(rng.uniform(0.8, 2.0, (RESERVATIONS, 3)), 2),
        policy=RegionPolicy(fix_first=fix_first),
    )


@pytest.mark.parametrize("fix_first", [True, False])
def test_a_clock_that_ends_in_the_relaxation_leaves_no_reservation_short(monkeypatch, fix_first) -> None:
    ended, mended, mends = False, Event(), phases.Phases.mended

    def mend(self, counts):
        found = mends(self, counts)
        mended.set()
        return found

    def late(lowered, *_, **__):
        nonlocal ended
        assert mended.wait(60.0), "nothing is mended while the relaxation runs"
        ended = True
        return replace(Relaxation.unknown(lowered), timed_out=True)

    monkeypatch.setattr(relaxing, "relax", late)
    monkeypatch.setattr(phases.Phases, "mended", mend)
    found = plan_target_bindings(
        region_that_is_short(np.random.default_rng(5), fix_first=fix_first), Limits(), cancelled=lambda: ended
    ).report
    assert ended
    assert found.stopped_by == "cancelled"
    assert found.stay.reservations_short > RESERVATIONS / 2
    assert found.score.reservations_short == 0
