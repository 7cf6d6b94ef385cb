"""Kill a worker at every crash point of the pull from Prometheus: the samples of each hour are stored once."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from libs.domain.metric_source import Fills, MetricQuery
from libs.store.platform.database import Database
from libs.store.platform.schedules import ensure_schedules
from libs.store.telemetry.measures import USAGE, load_blocks
from libs.store.telemetry.metric_sources import load_source, set_source
from tests.crash.harness import JobProcesses, wait_until
from tests.crash.points import crash_points
from tests.services.planner.intake.prometheus_server import FakePrometheus, matrix

STEMS = sorted({point.rpartition(".")[0] for point in crash_points() if point.startswith("telemetry.")})


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, pool_size=2)
    yield database
    database.close()


@pytest.mark.parametrize("stem", STEMS)
def test_killed_before_and_after_it_no_hour_is_missing(
    stem: str, database: Database, database_url: str, tmp_path: Path
) -> None:
    """Three hours back. Every answer has one sample, at the start minute of its query."""
    query = MetricQuery(
        fills=Fills.USAGE,
        query="use",
        labels={},
        constants={"service": "store", "region": "east", "hardware_type": "hw"},
        step_minutes=1,
        scale=1.0,
    )
    began = datetime.now(UTC)
    with database.write() as tx:
        set_source(tx, "use", query, generation=0)
        ensure_schedules(tx, {}, {"pull_metrics": 0.2}, now=began)
    with FakePrometheus((200, matrix())).serving() as fake:
        fake.answer = lambda form: matrix(({}, [(float(form["start"]), "1")]))
        env = {"PLIMSOLL_PROMETHEUS_URL": fake.url, "PLIMSOLL_PROMETHEUS_BACKFILL_DAYS": "0.125"}
        with JobProcesses(tmp_path, database_url, **env, PLIMSOLL_BUNDLE_DIR=str(tmp_path)) as processes:
            processes.crash_at_each([f"{stem}.before", f"{stem}.after"])
            processes.start()
            wait_until(lambda: pulled(database) > began - timedelta(minutes=2), "everything is pulled")
    hour = int(began.timestamp() // 3600)
    until = pulled(database)
    with database.snapshot() as tx:
        _, _, block = load_blocks(tx, USAGE, hour - 4, hour + 2)
    hours = -(-(until - began + timedelta(hours=3)) // timedelta(hours=1))
    assert np.nansum(block) >= hours
    asked = {int(float(form["start"]) // 3600) for form in fake.asked}  # a repeated hour counts once
    assert np.nansum(block) == len(asked)


def pulled(database: Database) -> datetime:
    with database.snapshot() as tx:
        pull = load_source(tx, "use").pull
    return datetime.min.replace(tzinfo=UTC) if pull is None else pull.pulled_until
