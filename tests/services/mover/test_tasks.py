"""Test the job of a region's moves: without an actuator no server moves, and the region says so."""

from typing import Any

import pytest

from libs.domain.job import Job, JobStatus
from libs.domain.region_condition import RegionCondition
from libs.jobs.kinds import JobRun
from services.mover.tasks import JOBS, move
from tests.builders.mover import Mover, conditions
from tests.builders.stored import NOW


def tick(mover: Mover) -> RegionCondition:
    """Run the job as a worker does, and return what the region says of its actuator."""
    job = Job(
        job_id=1, kind="move", subject="west", arguments={}, status=JobStatus.RUNNING, attempts=1, worker="w",
        error=None, created_at=NOW, finished_at=None, sends=1, trace=None,
    )  # fmt: skip
    lease: Any = None
    move.run(JobRun(job=job, database=mover.database, clock=mover.clock, lease=lease))
    return conditions(mover)["ActuatorReachable"]


def test_without_an_actuator_no_server_moves_and_the_region_says_so(
    mover: Mover, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PLIMSOLL_MOVER_ACTUATOR", raising=False)
    for _ in range(2):
        said = tick(mover)
        assert (said.status.value, said.reason) == ("False", "NoActuator")
        assert "PLIMSOLL_MOVER_ACTUATOR" in said.message
    assert mover.moves() == []


def test_the_simulated_actuator_moves_servers_and_the_region_says_so(
    mover: Mover, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLIMSOLL_MOVER_ACTUATOR", "simulated")
    said = tick(mover)
    assert (said.status.value, said.reason) == ("True", "Simulated")
    assert [one.server for one in mover.moves()] == ["server-00"]


def test_time_without_an_actuator_is_no_duration_of_a_step(mover: Mover, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIMSOLL_MOVER_ACTUATOR", "simulated")
    monkeypatch.setenv("PLIMSOLL_SIMULATED_DELAY", "1000")
    monkeypatch.setenv("PLIMSOLL_MOVE_STEP_S_MAX", "60")
    tick(mover)
    monkeypatch.delenv("PLIMSOLL_MOVER_ACTUATOR")
    tick(mover)
    mover.clock.sleep(3600)
    tick(mover)
    monkeypatch.setenv("PLIMSOLL_MOVER_ACTUATOR", "simulated")
    tick(mover)
    (one,) = mover.moves()
    assert (one.status.value, one.attempt) == ("running", 1)


def test_an_actuator_that_does_not_exist_ends_the_worker_at_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIMSOLL_MOVER_ACTUATOR", "webhok")
    with pytest.raises(ValueError, match="there is no actuator 'webhok': choose one of simulated, webhook"):
        JOBS.read_settings()
