"""A short run on a real database: the whole platform lives through requests, failures and killed workers."""

import json
import math
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from soak.promise.month import Month, Plan
from soak.promise.platform import Platform
from soak.promise.verdict import faults_of


def test_some_hours_of_a_small_region(tmp_path: Path) -> None:
    plan = Plan(seed=1, days=0.45, servers=150, requests_per_day=60, kills=0.003)
    file = tmp_path / "report.json"
    found: dict[str, Any] = Month(plan, tmp_path, report=file).run()
    assert json.loads(file.read_text())["joined"] == found["joined"]
    assert found["days"] == plan.days
    assert found["requests"]["create"] > 3
    assert found["failures"]["msb"] == 1
    assert found["joined"] > 20
    assert found["answers_lost"] > 0
    assert found["workers_killed"]
    assert found["solves"] >= 10
    assert found["solve_runs"]["committed"] > 0
    assert faults_of(found) == []
    assert found["least"]["moved"]["ratio"] >= 1
    assert found["least"]["there"]["ratio"] >= 1


@pytest.mark.parametrize(
    ("is_news", "step_ends_s", "next_s"),
    [(True, math.inf, 30.0), (False, math.inf, 300.0), (False, 100.0, 100.0), (False, 10.0, 30.0)],
)
def test_the_mover_ticks_as_soon_as_there_can_be_news_for_it(
    tmp_path: Path, is_news: bool, step_ends_s: float, next_s: float
) -> None:
    month = Month(Plan(seed=1, days=1, servers=20, requests_per_day=1), tmp_path)
    month.servers = Mock(next_due_s=step_ends_s)
    month.is_news = is_news
    assert month.next_s(Mock(spec=Platform, moved_at_s=0.0)) == next_s
