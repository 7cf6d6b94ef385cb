"""An MSB is reported lost one server at a time: the shared buffer is spared, no promise is broken, and all goes back.

The solver, the replacements and the mover run on one clock and one database, as they do in a region.
"""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from libs.domain.policy import RegionPolicy
from libs.domain.reservation import ReservationSpec
from libs.domain.unavailability import Unavailability, UnavailabilityScope
from libs.store.capacity.reservations import find_reservation
from libs.store.capacity.shared_buffers import NAME_PREFIX
from libs.store.fleet.unavailability_events import end_event, list_events, open_event
from libs.store.plans.solve_runs import list_solve_runs
from libs.store.platform.database import Database
from services.mover.reconcilers.draw_replacements import DrawReplacements
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.settings import SolverSettings
from tests.builders.clock import ManualClock
from tests.builders.mover import Mover
from tests.builders.region import region_image
from tests.builders.stored import read, stored, targets

MSBS, RACKS, IN_RACK = 4, 4, 4
SIZE = RACKS * IN_RACK
"""Servers of an MSB."""
CAPACITY = {"web": 24.0, "db": 9.0}
"""RRU. Each reservation survives the loss of an MSB, so it also has a third of that as its embedded buffer."""
EXPLAINED = 3
"""Failures in an MSB of this size within minutes that count as single ones: docs/designs/0028."""
BUFFER = f"{NAME_PREFIX}hw-a"


class Region:
    """One region with its loops."""

    def __init__(self, database: Database, clock: ManualClock, folder: Path) -> None:
        self.database, self.clock, self.mover = database, clock, Mover(database, clock)
        self._settings = SolverSettings.model_validate({"PLIMSOLL_BUNDLE_DIR": folder})

    def tick(self, seconds: float = 5.0) -> None:
        """Let the mover tick, and check that every reservation holds what was promised."""
        self.mover.tick(seconds)
        assert self.short() == {}

    def settle(self) -> None:
        for _ in range(15):
            self.tick(60)

    def solve(self) -> dict[str, str]:
        """Return why each reservation has what it has."""
        SolveBindings(self.database, self.clock, self._settings, "west", "test").reconcile()
        with self.database.snapshot() as tx:
            found = {name: find_reservation(tx, "west", name) for name in CAPACITY}
        return {name: one.finding.reason for name, one in found.items() if one is not None and one.finding is not None}

    def last_report(self) -> dict[str, float]:
        """Return the report of the last solve."""
        with self.database.snapshot() as tx:
            (run,) = list_solve_runs(tx, region="west", after=None, limit=1).items
        assert run.report is not None
        return run.report

    def short(self) -> dict[str, float]:
        """Return the RRU held by each reservation that holds less than it was promised."""
        with self.database.snapshot() as tx:
            found = [find_reservation(tx, "west", name) for name in CAPACITY]
        held = {one.name: one.held.total_rru for one in found if one is not None}
        return {name: rru for name, rru in held.items() if rru < CAPACITY[name]}

    def fail(self, server: str) -> None:
        """Report one server as lost, and let the replacements be decided, as the report itself makes them be."""
        with self.database.write() as tx:
            open_event(
                tx,
                "west",
                scope=UnavailabilityScope.SERVER,
                scope_name=server,
                kind=Unavailability.UNPLANNED,
                reason="power",
                starts_at=self.clock.now(),
                ends_at=None,
                actor="health",
                now=self.clock.now(),
            )
        DrawReplacements(self.database, self.clock, "west").reconcile()

    def mend(self) -> None:
        """End every event."""
        with self.database.write() as tx:
            for event in list_events(tx, "west", limit=1000).items:
                now, generation = self.clock.now(), event.generation
                end_event(tx, event.unavailability_event_id, generation=generation, actor="health", now=now)

    def bound(self) -> dict[str, set[str]]:
        """Return the servers that each reservation is to have."""
        found: dict[str, set[str]] = {}
        for server, reservation in targets(read(self.database)).items():
            found.setdefault(reservation, set()).add(server)
        return found


@pytest.fixture
def region(database_url: str, tmp_path: Path) -> Iterator[Region]:
    database, clock = Database(database_url), ManualClock()
    image = region_image(
        msbs=MSBS,
        racks_per_msb=RACKS,
        servers_per_rack=IN_RACK,
        reservations={name: ReservationSpec(capacity_rru=rru, rru={"hw-a": 1.0}) for name, rru in CAPACITY.items()},
        policy=RegionPolicy(shared_buffer_share=0.1),
    )
    stored(database, image)
    region = Region(database, clock, tmp_path / "bundles")
    region.solve()
    for _ in range(15):
        region.mover.tick(60)
    assert region.short() == {}
    yield region
    database.close()


def test_the_shared_buffer_is_spared_and_what_was_taken_goes_back(region: Region) -> None:
    before = region.bound()
    spares = before[BUFFER]
    servers = [f"server-{k:02d}" for k in range(SIZE)]
    # One of each rack in turn, so that no rack fails as a whole before the others.
    one_by_one = sorted(servers, key=lambda name: (int(name[-2:]) % IN_RACK, name))
    most_drawn = 0
    for server in one_by_one:
        region.clock.sleep(10)
        region.fail(server)
        region.tick()
        most_drawn = max(most_drawn, len(spares - region.bound()[BUFFER]))
    assert most_drawn <= EXPLAINED < len(spares), "the buffer is not spent on the loss of an MSB"
    region.settle()
    DrawReplacements(region.database, region.clock, "west").reconcile()
    region.settle()
    assert spares - set(servers) <= region.bound()[BUFFER], "what was drawn before the alarm has gone back"
    region.clock.sleep(timedelta(hours=2).total_seconds())
    assert set(region.solve().values()) == {"MsbAwaited"}, "the loss of one MSB is what embedded buffers are for"
    report = region.last_report()
    assert report["penalty"] > report["least_penalty"], "what is short counts only servers that are up"
    assert report["gap"] < 0.01, "and it is no distance to a better plan"
    awaited = report["as_solved"]
    assert awaited["message"] == (
        f"The gap and the costs before count {awaited['awaited_servers']} servers of a lost domain as present; the "
        "costs after do not."
    )
    assert awaited["awaited_servers"] > 0
    assert awaited["shortfall_rru"] == 0 < report["terms"]["shortfall_rru"]
    assert report["stay"]["terms"]["shortfall_rru"] < report["terms"]["shortfall_rru"], "before, they count as present"
    region.settle()
    kept = {name: region.bound()[name] - set(servers) for name in CAPACITY}
    assert kept == {name: before[name] - set(servers) for name in CAPACITY}, "no server is taken for the lost ones"
    region.clock.sleep(timedelta(hours=2).total_seconds())
    rebuilt = region.solve()
    assert "MsbAwaited" not in rebuilt.values(), "after rebuild_after the buffers are rebuilt"
    region.settle()
    taken = {name: region.bound()[name] - set(servers) - before[name] for name in CAPACITY}
    assert any(taken.values()), "free servers stand in for the lost ones"
    region.mend()
    assert set(region.solve().values()) == {"Granted"}
    region.settle()
    assert {name: len(region.bound()[name]) for name in CAPACITY} == {name: len(before[name]) for name in CAPACITY}
