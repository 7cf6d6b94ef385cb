"""A solve on a real database counts cost units, not the units that owners choose for their RRU."""

from pathlib import Path

import pytest

from libs.domain.reservation import ReservationSpec
from libs.interchange.bundles.solve import load_bundle
from libs.ras.solve import plan_target_bindings
from libs.reconcile.clock import SystemClock
from libs.store.fleet.hardware_types import put_cost_units
from libs.store.plans.solve_runs import list_solve_runs
from libs.store.platform.database import Database
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.settings import SolverSettings
from tests.builders.region import region_image
from tests.builders.stored import read, stored


@pytest.mark.parametrize("times", [0.01, 1.0, 100.0])
def test_the_class_of_priority_decides_whatever_the_unit(database_url: str, tmp_path: Path, times: float) -> None:
    database = Database(database_url)
    specs = {
        "web": ReservationSpec(capacity_rru=6, rru={"hw-a": 1.0}, survives_msb_loss=False, priority=3),
        "inflated": ReservationSpec(capacity_rru=6 * times, rru={"hw-a": times}, survives_msb_loss=False),
    }
    stored(database, region_image(msbs=2, servers_per_rack=4, reservations=specs))
    with database.write() as tx:
        put_cost_units(tx, "hw-a", 2.0, generation=1, actor="olga", reason=None, now=SystemClock().now())
    settings = SolverSettings.model_validate({"PLIMSOLL_BUNDLE_DIR": tmp_path})
    SolveBindings(database, SystemClock(), settings, "west", "test").reconcile()
    after = read(database)
    names = after.reservations.name.tolist()
    held = {name: int((after.servers.target == names.index(name)).sum()) for name in specs}
    assert held == {"web": 6, "inflated": 2}
    with database.snapshot() as tx:
        run = list_solve_runs(tx, region="west", after=None, limit=1).items[0]
    assert run.report is not None
    assert run.report["short_by_priority_cost_units"] == {"2": pytest.approx(8.0)}
    [bundle] = tmp_path.rglob("*.zip")
    again = load_bundle(bundle).region.snapshot
    assert again.units_per_rru.tolist() == after.units_per_rru.tolist() == pytest.approx([2.0, 2.0 / times])
    assert plan_target_bindings(again).report.score.penalty == pytest.approx(run.report["penalty"])
    database.close()
