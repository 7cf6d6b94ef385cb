"""Limits of a region have the gap that is good enough after little change, unless a caller asks for one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from libs.assignment import Limits
from libs.assignment.solvers.portfolio.phases import Phases
from libs.ras.bundle_limits import NEAR_GAP, for_region, limits_from
from libs.ras.solve import plan_target_bindings
from tests.builders.random_region import random_region


def test_a_gap_of_the_caller_stays() -> None:
    assert for_region(Limits(time_s_max=3.0)) == Limits(time_s_max=3.0, near_gap=NEAR_GAP)
    for asked in (Limits(near_gap=0.0), Limits(relative_gap=1e-3), limits_from({"near_gap": 0.01})):
        assert for_region(asked) == asked


def test_a_solve_of_a_region_asks_for_that_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, real = set[float](), Phases.__init__

    def noted(self: Phases, *given: Any, **named: Any) -> None:
        real(self, *given, **named)
        asked.add(self.limits.near_gap)

    monkeypatch.setattr(Phases, "__init__", noted)
    plan_target_bindings(random_region(np.random.default_rng(3), 60, 5))
    assert asked == {NEAR_GAP}
