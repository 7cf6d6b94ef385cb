"""A short run on a real database: the whole platform lives through requests, failures and killed workers."""

from pathlib import Path
from typing import Any

from soak.promise.month import Month, Plan


def test_some_hours_of_a_small_region(tmp_path: Path) -> None:
    plan = Plan(seed=1, days=0.45, servers=150, requests_per_day=60, kills=0.003)
    found: dict[str, Any] = Month(plan, tmp_path).run()
    assert found["requests"]["create"] > 3
    assert found["failures"]["msb"] == 1
    assert found["joined"] > 20
    assert found["answers_lost"] > 0
    assert found["workers_killed"]
    assert found["solves"] >= 10
    assert not found["wrong_steps"]
    assert found["least"]["moved"]["ratio"] >= 1
    assert found["least"]["there"]["ratio"] >= 1
