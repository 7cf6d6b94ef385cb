"""A solve takes no owner above its quota, where the region's servers lie so that a reservation needs more."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from libs.domain.policy import RegionPolicy
from libs.domain.reservation import ReservationSpec
from libs.store.capacity.quotas import load_quota, set_quota
from libs.store.plans.solve_runs import list_solve_runs
from libs.store.platform.database import Database
from services.solver.reconcilers.solve_bindings import SolveBindings
from tests.builders.region import region_image
from tests.builders.stored import read, stored, targets


@pytest.fixture
def database(database_url: str):
    """Two of four MSBs have hw-a: there, 3 RRU that survive an MSB's loss take 6 servers, and not 4."""
    database = Database(database_url)
    thin = ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0})
    image = region_image(msbs=4, hardware_types=("hw-a", "hw-b"), reservations={"thin": thin}, owner={"thin": "small"})
    stored(database, image)
    yield database
    database.close()


@pytest.mark.parametrize(("limit", "held"), [(None, 6), (6, 6), (5, 5), (4, 4), (1, 4)])
def test_what_a_quota_has_no_room_for_is_barred_and_named(
    database: Database, solver: Callable[[], SolveBindings], limit: float | None, held: int
) -> None:
    with database.write() as tx:
        set_quota(tx, "west", "small", limit, generation=0)
    for _ in range(2):
        solver().reconcile()
        assert list(targets(read(database)).values()).count("thin") == held
    with database.snapshot() as tx:
        run = list_solve_runs(tx, region="west", after=None, limit=9).items[-1]
        quota = load_quota(tx, "west", "small")
    reasons = [one["reason"] for one in run.report["dropped"] if one["reservation"] == "thin"]
    assert any("quota" in reason for reason in reasons) == (held < 6)
    assert quota.used_cost_units == max(held, 4)  # the most that it may come to hold is 4


def test_an_exchange_counts_both_servers_until_the_old_one_is_back(
    database_url: str, solver_of: Callable[[Database], SolveBindings]
) -> None:
    """A full quota does not stop the repair of a spread. While it lasts, nothing more can be asked for."""
    database = Database(database_url)
    web = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0}, survives_msb_loss=False, msb_spread_limit=0.25)
    first = [f"server-{k:02d}" for k in range(4)]
    image = region_image(
        msbs=4,
        reservations={"web": web},
        current=dict.fromkeys(first, "web"),
        owner={"web": "small"},
        policy=RegionPolicy(spread_cost=50.0),
    )
    stored(database, image)
    with database.write() as tx:
        set_quota(tx, "west", "small", 4, generation=0)
    solver_of(database).reconcile()
    after = targets(read(database))
    assert list(after.values()).count("web") == 4
    assert sum(after.get(name) == "web" for name in first) == 1

    def used(sql: str) -> float:
        with database.write() as tx:
            tx.execute(sa.text(sql))
        with database.snapshot() as tx:
            return load_quota(tx, "west", "small").used_cost_units

    join = "UPDATE servers SET current_reservation_id = target_reservation_id WHERE "
    assert used("SELECT 1") == 7  # four by target, and three that have not left
    assert used(f"{join} target_reservation_id IS NOT NULL") == 7
    assert used(f"{join} target_reservation_id IS NULL") == 4
    database.close()
