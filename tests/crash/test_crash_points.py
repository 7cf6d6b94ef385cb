"""Kill a process at every crash point, start again without it, and see that nothing was lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from libs.store.database import Database
from tests.crash import thin_path
from tests.crash.harness import JobProcesses, wait_until
from tests.crash.points import crash_points


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, pool_size=2)
    yield database
    database.close()


@pytest.mark.parametrize("point", crash_points())
def test_killed_there_nothing_is_lost(point: str, database: Database, database_url: str, tmp_path: Path) -> None:
    thin_path.prepare(database)
    env = thin_path.ENV | {"PLIMSOLL_BUNDLE_DIR": str(tmp_path / "bundles")}
    with JobProcesses(tmp_path, database_url, **env) as processes:
        processes.start(PLIMSOLL_CRASH_AT=point)
        wait_until(processes.crashed, f"{point} is reached")
        processes.kill()
        processes.start()
        thin_path.wait_for_the_end(database)
    thin_path.check(database)


def test_there_are_points_around_every_commit_of_a_loop() -> None:
    points = crash_points()
    assert len(points) > 20
    for point in points:
        stem, _, side = point.rpartition(".")
        assert side in ("before", "after"), f"{point}: a point stands before or after something"
        assert {f"{stem}.before", f"{stem}.after"} <= set(points), f"{stem} has one side only"
