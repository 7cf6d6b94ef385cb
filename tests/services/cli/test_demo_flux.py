"""The loop of Flux and RAS on the real platform, and the judge of its record."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.cli.demo.flux.record import Model, Moment, prove

START = datetime(2026, 11, 2, tzinfo=UTC)


def moment(minutes: int, east: float, held: float) -> Moment:
    shares = {"shop": {"east": east, "west": 1 - east}}
    return Moment(at=START + timedelta(minutes=minutes), shares=shares, held={("web", "east"): held})


def test_the_judge_finds_a_moment_without_capacity_and_uses_the_model_of_its_time() -> None:
    models = [
        Model(at=START + timedelta(minutes=at), needs={"web": {"shop": need}}) for at, need in ((0, 100), (60, 200))
    ]
    found = prove([moment(0, 0.5, 51), moment(30, 0.6, 55), moment(90, 0.25, 50)], models)
    assert [(lack.at.minute, lack.held, lack.needed) for lack in found.lacks] == [(30, 55, 60)]
    assert (found.moments, found.looks) == (3, 3)
    assert found.tightest == pytest.approx(55 / 60)
    late = prove([moment(90, 0.3, 50)], models)
    assert [lack.needed for lack in late.lacks] == [60]


def test_the_loop_closes_and_no_service_ever_lacks_capacity(tmp_path: Path) -> None:
    """East loses 15 % of its supply over two cycles, and every trouble of the demo comes and passes."""
    command = [sys.executable, "-m", "services.cli.main", "demo", "--flux", "-o", "json"]
    env = os.environ | {"PLIMSOLL_STATE_DIR": str(tmp_path)}
    ran = subprocess.run(command, check=False, capture_output=True, text=True, env=env)
    assert ran.returncode == 0, ran.stderr[-3000:]
    found = json.loads(ran.stdout)
    assert found["troubles"] == []
    assert found["proof"]["lacks"] == []
    assert found["proof"]["tightest"] >= 1
    assert found["servers"] == [108, 92]
    assert found["traffic"]["east"][1] < found["traffic"]["east"][0] - 0.03
    assert sum(after for _, after in found["traffic"].values()) == pytest.approx(1)
    assert [cycle["cycle"] for cycle in found["cycles"]] == [1, 2]
    first, second = found["cycles"]
    assert first["up"][0] == pytest.approx(first["up"][1])
    assert first["down"][1] < first["down"][0]  # the load test kept the capacity of one service
    assert second["up"][0] == pytest.approx(second["up"][1])
    assert 0.5 < first["by_itself"] < 1, "each plan has read the traces of a day, so its models are certain"
    assert 0.5 < second["by_itself"] < 1
    assert all(cycle["actions"]["shift"] > 0 for cycle in found["cycles"])
    assert sum(cycle["moved"] for cycle in found["cycles"]) > 0.03
