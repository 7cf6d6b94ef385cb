"""A clock that ends a solve early costs quality, and not promises."""

from dataclasses import replace
from threading import Event

import numpy as np
import pytest

from libs.assignment import Limits
from libs.assignment.solvers.portfolio import phases, relaxing
from libs.assignment.solvers.portfolio.relaxation import Relaxation
from libs.domain.domain_limits import DomainLimit
from libs.domain.fleet import FREE
from libs.domain.policy import RegionPolicy
from libs.ras import solve, zones
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


def test_a_clock_that_ends_as_a_solve_is_repeated_keeps_the_first_plan_of_all_others(monkeypatch) -> None:
    """Reservation 0 would move to block 1, but two of its servers are in maintenance: it keeps block 0."""
    ended = False

    def scattered(snapshot, target):
        nonlocal ended
        found = zones.scattered(snapshot, target)
        ended = ended or bool(found.any())
        return found

    monkeypatch.setattr(solve, "scattered", scattered)
    snapshot = region(
        types=2,
        servers=[(s // 8, int(s >= 3 and s % 2), 0 if s < 3 else FREE) for s in range(24)],
        capacity=[6, 5],
        rru=[[1, 0], [0, 1]],
        survives=[False, True],
        domains=[[0] * 3 + [1] * 21],
        limits=[[DomainLimit(kind="kind_0", domains_max=1)], []],
    )
    snapshot = replace(snapshot, servers=replace(snapshot.servers, drained=np.arange(24) < 2))
    found = plan_target_bindings(snapshot, Limits(), cancelled=lambda: ended)
    assert ended
    assert found.report.stopped_by == "cancelled"
    assert np.flatnonzero(found.plan.target == 0).tolist() == [0, 1, 2]
    assert found.report.shortfall_rru.tolist() == [3, 0]
