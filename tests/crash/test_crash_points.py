"""Kill a process at every crash point, before and after each act, and check that nothing is lost.

The points of one service share a run: most of the work is the way to its end.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from libs.store.platform.database import Database
from tests.crash import thin_path
from tests.crash.harness import JobProcesses
from tests.crash.points import crash_points

IN_REST = {"web.write", "broker.import"}
"""Requests reach these: tests/crash/test_rest_writes.py."""
ALONE = {"mover.lend"}
"""Exchanges reach it: tests/crash/test_loans.py kills the mover there."""
ELSEWHERE = ("planner.", "telemetry.", "orchestrator.", "portal.remind", "portal.bookings", "solver.shadow.")
"""Points of plans, their telemetry and their execution: tests/crash/test_planner.py and test_pull_metrics.py, and
tests/services/orchestrator/reconcilers. Points of reminders and bookings: test_remind_approvals.py and
test_keep_bookings.py of the portal. Points of shadow solves: test_solve_shadow.py of the solver.
"""


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, pool_size=2)
    yield database
    database.close()


def stems() -> list[str]:
    """Return the names of a worker's acts, except those of planning and execution."""
    found = {point.rpartition(".")[0] for point in crash_points()} - IN_REST - ALONE
    return sorted(stem for stem in found if not stem.startswith(ELSEWHERE))


@pytest.mark.timeout(1200)  # two processes start again after each of up to twenty deaths
@pytest.mark.parametrize("service", sorted({stem.partition(".")[0] for stem in stems()}))
def test_killed_before_and_after_each_act_nothing_is_lost(
    service: str, database: Database, database_url: str, tmp_path: Path
) -> None:
    acts = [stem for stem in stems() if stem.startswith(f"{service}.")]
    thin_path.prepare(database)
    env = thin_path.ENV | {"PLIMSOLL_BUNDLE_DIR": str(tmp_path / "bundles")}
    with JobProcesses(tmp_path, database_url, **env) as processes:
        processes.crash_at_each([f"{act}.{side}" for act in acts for side in ("before", "after")])
        processes.start()
        thin_path.wait_for_the_end(database)
    thin_path.check(database)


def test_points_come_in_pairs() -> None:
    points = crash_points()
    assert len(points) > 20
    for point in points:
        stem, _, side = point.rpartition(".")
        assert side in ("before", "after"), f"{point}: name it for what it stands before or after"
        assert {f"{stem}.before", f"{stem}.after"} <= set(points), f"{stem} has one side only"
