"""A solve on a real database keeps to the churn budget, counts its own preemptions, and shows both."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from libs.domain.plan import SolveStatus
from libs.domain.policy import RegionPolicy
from libs.domain.reservation import ReservationSpec
from libs.interchange.bundles.solve import load_bundle
from libs.reconcile.clock import SystemClock
from libs.store.plans.solve_runs import list_solve_runs
from libs.store.platform.database import Database
from libs.store.regions.region_summary import load_region_summary
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.settings import SolverSettings
from tests.builders.region import region_image
from tests.builders.stored import read, stored, targets

IN_USE = {f"server-{k:02d}" for k in range(16)}


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """web has all of its 16 servers in one MSB. A spread of a quarter each would be better by far."""
    database = Database(database_url)
    spec = ReservationSpec(capacity_rru=16, rru={"hw-a": 1.0}, survives_msb_loss=False, msb_spread_limit=0.25)
    policy = RegionPolicy(spread_cost=50.0, daily_churn_share=0.25, solve_churn_share=0.2, reservation_churn_share=1.0)
    image = region_image(
        msbs=4,
        servers_per_rack=16,
        reservations={"web": spec},
        current=dict.fromkeys(IN_USE, "web"),
        in_use=IN_USE,
        policy=policy,
    )
    stored(database, image)
    yield database
    database.close()


def test_each_solve_takes_its_part_of_the_day_and_then_no_more(database: Database, tmp_path: Path) -> None:
    settings = SolverSettings.model_validate({"PLIMSOLL_BUNDLE_DIR": tmp_path / "bundles"})
    taken, told = [], []
    for _ in range(3):
        SolveBindings(database, SystemClock(), settings, "west", "test").reconcile()
        with database.snapshot() as tx:
            run = list_solve_runs(tx, region="west", after=None, limit=1).items[0]
            summary = load_region_summary(tx, "west")
        assert run.report is not None
        told.append(run.report["churn"])
        taken.append(len(IN_USE - targets(read(database)).keys()))
    assert taken == [3, 4, 4]
    assert [(one["used"], one["most"], one["planned"]) for one in told] == [(0, 3, 3), (3, 1, 1), (4, 0, 0)]
    assert [one["held_back"] for one in told] == [{"web": 9}, {"web": 8}, {"web": 8}]
    assert run.status is SolveStatus.UNCHANGED
    assert summary.churn is not None
    assert (summary.churn.used, summary.churn.held_back) == (4, 8)
    assert load_bundle(Path(str(run.bundle))).region.snapshot.churned.tolist() == [4]
    with database.snapshot() as tx:
        assert tx.execute(sa.text("SELECT count(*) FROM servers WHERE churns")).scalar_one() == 4
