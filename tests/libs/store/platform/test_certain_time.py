"""Irreversible work does not rely on a host's clock alone."""

from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from libs.reconcile.clock import Clock, SystemClock
from libs.store.capacity.reservations import load_reservation
from libs.store.platform.certain_time import AHEAD_MAX, STEP_MAX, certain_now, retention_now
from libs.store.platform.database import Database
from libs.store.telemetry.measures import USAGE
from services.mover.reconcilers.forget_history import ForgetHistory
from services.planner.reconcilers.forget_telemetry import ForgetTelemetry
from services.portal.reconcilers.advance_windows import AdvanceWindows
from tests.builders.clock import ManualClock
from tests.builders.region import region_image
from tests.builders.stored import read, reservation_id, stored
from tests.libs.store.tables.test_schema import WEB

FAR = timedelta(days=4000)


class Wrong(SystemClock):
    """The clock of a host that started years ahead, or behind."""

    def __init__(self, by: timedelta) -> None:
        self.by = by

    def now(self) -> datetime:
        return super().now() + self.by


def test_a_host_ahead_is_held_to_the_database_and_one_behind_is_believed(database: Database) -> None:
    real = SystemClock().now()
    with database.write() as tx:
        assert certain_now(tx, Wrong(FAR)) < real + AHEAD_MAX + timedelta(minutes=10)
        assert certain_now(tx, Wrong(-FAR)) < real - FAR + timedelta(minutes=10)
        simulated = ManualClock()
        assert certain_now(tx, simulated) == simulated.now(), "simulated time is its own"


def test_no_run_of_retention_believes_that_more_than_a_week_has_passed(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if the database's clock jumps, when no other clock is there to compare with."""
    clock = SystemClock()
    with database.write() as tx:
        first = retention_now(tx, clock, "telemetry")
    monkeypatch.setattr("libs.store.platform.certain_time.certain_now", lambda tx, clock: first + FAR)
    for run in (1, 2):
        with database.write() as tx:
            assert retention_now(tx, clock, "telemetry") == first + run * STEP_MAX
    monkeypatch.undo()
    with database.write() as tx:
        assert retention_now(tx, clock, "telemetry") < first + STEP_MAX, "a clock that went back is believed"
        assert abs(retention_now(tx, clock, "planning") - first) < timedelta(hours=1), "each has its own"


@pytest.mark.parametrize("clock", [SystemClock(), Wrong(FAR)])
def test_a_host_ahead_ends_and_forgets_nothing(database: Database, clock: Clock) -> None:
    stored(database, region_image(reservations={"web": WEB}, current={"server-00": "web"}))
    hour = int(SystemClock().now().timestamp() // 3600)
    with database.write() as tx:
        tx.execute(sa.text("UPDATE reservations SET ends_at = now() + interval '30 days'"))
        tx.execute(sa.text("INSERT INTO usage_series (service, region, hardware_type) VALUES ('s', 'west', 'hw-a')"))
        values = {"hour": hour, "samples": b"\0" * 240}
        columns = "SELECT :hour, usage_series_id, :samples FROM usage_series"
        tx.execute(sa.text(f"INSERT INTO usage_hours (hour, usage_series_id, samples) {columns}"), values)
    assert AdvanceWindows(database, clock, "west").reconcile() == (0, 0)
    ForgetTelemetry(database, clock, 35).reconcile()
    ForgetHistory(database, clock, "west", kept_days=90).reconcile()
    web = reservation_id(read(database), "web")
    with database.snapshot() as tx:
        assert load_reservation(tx, web).deleted_at is None
        assert tx.execute(sa.select(sa.func.count()).select_from(USAGE.hours)).scalar_one() == 1
