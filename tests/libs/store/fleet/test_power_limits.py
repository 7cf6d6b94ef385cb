"""Limits on power in the database: what an import brings, and what two plans may add together."""

import numpy as np
import pytest
import sqlalchemy as sa

from libs.domain.power import PowerLimit
from libs.domain.power_use import room_w
from libs.domain.reservation import ReservationSpec
from libs.interchange.region.read import load_region
from libs.interchange.region.write import dump_region
from libs.reconcile.errors import StaleGeneration
from libs.store.fleet.power_limits import load_power_bounds, load_power_limits, put_power_limits
from libs.store.fleet.regions import load_region as load_stored_region
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.platform.database import Database
from libs.store.regions.region_export import load_region_image
from libs.store.regions.region_import import import_region
from libs.store.regions.region_power import load_region_power
from tests.builders.region import region_image
from tests.libs.store.conftest import NOW

WEB = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)
ROWS = {f"server-{n:02d}": f"row-{n % 2}" for n in range(8)}
LIMITS = (
    PowerLimit(kind="MSB", domain="msb-00", limit_w=1400.0, headroom=0.1),
    PowerLimit(kind="power_row", domain="row-1", limit_w=1100.0),
)


def stored(database: Database, **more):
    """Store a region of 2 MSBs with 4 servers each, of 100 W idle and 300 W in full. Return its id and snapshot."""
    image = region_image(
        reservations={"web": WEB},
        attributes={"hw-a": {"idle_w": 100.0, "full_w": 300.0}},
        domains={"power_row": ROWS},
        power_limits=LIMITS,
        **more,
    )
    with database.write() as tx:
        import_region(tx, image, actor="olga", now=NOW)
    with database.snapshot() as tx:
        return load_stored_region(tx, "west").region_id, load_fleet_snapshot(tx, "west")


def test_a_region_comes_and_goes_with_its_watts_and_limits(database: Database) -> None:
    region_id, snapshot = stored(database)
    assert snapshot.power.limits == LIMITS
    assert (snapshot.power.idle_w.tolist(), snapshot.power.full_w.tolist()) == ([100.0], [300.0])
    with database.snapshot() as tx:
        found = dump_region(load_region_image(tx, "west"))
        assert load_power_limits(tx, region_id) == (LIMITS, 1)
    exported = load_region(found).snapshot.power
    assert (exported.limits, exported.idle_w.tolist(), exported.full_w.tolist()) == (LIMITS, [100.0], [300.0])


def test_a_second_region_fills_in_figures_that_a_type_lacks_and_changes_none(database: Database) -> None:
    for region, figures in (("east", {"vcpu": 96.0}), ("west", {"vcpu": 48.0, "full_w": 300.0})):
        with database.write() as tx:
            import_region(tx, region_image(region, attributes={"hw-a": figures}), actor="olga", now=NOW)
    with database.snapshot() as tx:
        assert load_region_image(tx, "east").hardware_type_attributes == {"hw-a": {"vcpu": 96.0, "full_w": 300.0}}


def test_limits_are_replaced_as_a_whole_at_their_generation(database: Database) -> None:
    region_id, _ = stored(database)
    with database.write() as tx, pytest.raises(StaleGeneration):
        put_power_limits(tx, region_id, (), generation=0, actor="olga", now=NOW)
    with database.write() as tx:
        assert put_power_limits(tx, region_id, LIMITS[:1], generation=1, actor="olga", now=NOW, reason="row-1") == 2
    with database.snapshot() as tx:
        assert load_power_limits(tx, region_id) == (LIMITS[:1], 2)


def test_bounds_count_what_another_plan_has_bound_since_the_snapshot(database: Database) -> None:
    region_id, snapshot = stored(database, current={"server-00": "web"})
    # msb-00: 1260 W allowed, 300 + 3 * 100 drawn. row-1 has server-01, -03, -05 and -07: 1100 W, 400 drawn.
    assert room_w(snapshot).tolist() == [660.0, 700.0]
    rows = np.flatnonzero(np.isin(snapshot.servers.name, ["server-01", "server-02", "server-04"]))
    to = np.zeros(3, np.int32)
    with database.write() as tx:
        bounds = load_power_bounds(tx, region_id, snapshot, rows, to)
    assert bounds.room_w.tolist() == [660.0, 700.0]
    assert bounds.added_w(np.ones(3, bool)).tolist() == [400.0, 200.0]
    assert not bounds.beyond(np.ones(3, bool)).any()
    with database.write() as tx:  # another plan binds server-03, which is in both domains
        tx.execute(
            sa.text("UPDATE servers SET target_reservation_id = :web WHERE name IN ('server-03', 'server-05')"),
            {"web": int(snapshot.reservations.id[0])},
        )
    with database.write() as tx:
        bounds = load_power_bounds(tx, region_id, snapshot, rows, to)
    assert bounds.room_w.tolist() == [460.0, 300.0]
    with database.write() as tx:
        tx.execute(
            sa.text("UPDATE servers SET target_reservation_id = :web WHERE server_id = ANY(:ids)"),
            {"web": int(snapshot.reservations.id[0]), "ids": snapshot.servers.id[rows].tolist()},
        )
        bounds = load_power_bounds(tx, region_id, snapshot, rows, to, written=True)
    assert bounds.room_w.tolist() == [460.0, 300.0], "as before its own targets were written"


def test_the_power_of_a_region_is_by_domain_now_and_by_target(database: Database) -> None:
    region_id, _ = stored(database, current={"server-00": "web"}, target={"server-00": "web", "server-05": "web"})
    with database.snapshot() as tx:
        found = load_region_power(tx, region_id)
    assert [(one.kind, one.domain, one.current_w, one.target_w, one.full_w) for one in found.domains] == [
        ("MSB", "msb-00", 600.0, 600.0, 1200.0),
        ("MSB", "msb-01", 400.0, 600.0, 1200.0),
        ("power_row", "row-1", 400.0, 600.0, 1200.0),
    ]
    assert [one.allowed_w for one in found.domains] == [pytest.approx(1260.0), None, 1100.0]
    assert (found.current_variance, found.target_variance) == (pytest.approx(np.var([0.5, 1 / 3])), 0.0)
    assert found.untold == ()
