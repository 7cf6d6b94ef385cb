"""Solves fill the shared buffers over all MSBs, and shrink them when an operator says so."""

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from libs.domain.policy import RegionPolicy
from libs.domain.reservation import ReservationSpec
from libs.reconcile.clock import SystemClock
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Database
from libs.store.regions.region_policies import update_policy
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.settings import SolverSettings
from tests.builders.region import region_image
from tests.builders.stored import NOW, read, stored


@pytest.fixture
def solve(database_url: str, settings: SolverSettings) -> Iterator[Callable[[float], Counter[str]]]:
    """Solve a region with this shared_buffer_share. Return the servers of the shared buffer by MSB."""
    database = Database(database_url)
    web = ReservationSpec(capacity_rru=6, rru={"hw-a": 1.0})
    stored(database, region_image(msbs=4, racks_per_msb=2, servers_per_rack=5, reservations={"web": web}))

    def run(share: float) -> Counter[str]:
        with database.write() as tx:
            generation = load_region(tx, "west").generation
            policy = RegionPolicy(shared_buffer_share=share)
            update_policy(tx, "west", policy, generation=generation, actor="olga", now=NOW)
        SolveBindings(database, SystemClock(), settings, "west", "test").reconcile()
        found = read(database)
        names = [*found.reservations.name, "deleted", ""]
        in_buffer = [names[target].startswith("shared-buffer-") for target in found.servers.target]
        return Counter(found.topology.msbs[found.server_msb[in_buffer]].tolist())

    yield run
    database.close()


def test_a_buffer_spreads_shrinks_and_goes(solve: Callable[[float], Counter[str]]) -> None:
    assert sorted(solve(0.3).values()) == [3, 3, 3, 3]
    assert sorted(solve(0.1).values()) == [1, 1, 1, 1]
    assert sum(solve(0.001).values()) == 1
    assert not solve(0.0)
