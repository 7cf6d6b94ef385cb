"""Solve tiny regions, and compare the plan with all bindings that there are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from libs.assignment import Limits
from libs.domain.arrays import Indices
from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.policy import RegionPolicy
from libs.plan_check.check import check_plan
from libs.plan_check.regression import check_regression
from libs.ras.evaluate import evaluate
from libs.ras.solve import plan_target_bindings

EXACT = Limits(relative_gap=0.0)


def all_bindings(snapshot: FleetSnapshot) -> Iterator[Indices]:
    """Yield every binding (S,) in which each server stays, is free, or is up and of use to its reservation."""
    s, rru = snapshot.servers, snapshot.reservations.rru
    of_server = [
        [FREE, *(r for r in range(len(rru)) if r == s.target[i] or (s.available[i] and rru[r, s.hardware_type[i]] > 0))]
        for i in range(len(s))
    ]
    return (np.array(binding, np.int32) for binding in itertools.product(*of_server))


def assert_solved_to_the_optimum(snapshot: FleetSnapshot) -> None:
    """Assert that a solve that weighs everything finds the least total of all bindings, and bounds it truly."""
    snapshot = replace(snapshot, policy=RegionPolicy(fix_first=False))
    best = min(evaluate(snapshot, binding).total for binding in all_bindings(snapshot))
    found = plan_target_bindings(snapshot, EXACT)
    assert check_plan(snapshot, found.plan) == []
    assert found.report.score.total == pytest.approx(best, abs=1e-3)
    assert found.report.lower_bound <= best + 1e-5


def assert_mended_first(snapshot: FleetSnapshot) -> None:
    """Assert that a solve finds the least penalty of all bindings that leave no reservation worse off."""
    allowed = [binding for binding in all_bindings(snapshot) if not check_regression(snapshot, binding)]
    found = plan_target_bindings(snapshot, EXACT)
    assert check_plan(snapshot, found.plan) == []
    assert found.report.score.penalty == pytest.approx(min(evaluate(snapshot, b).penalty for b in allowed), abs=1e-3)


def assert_not_worse_on_counts(snapshot: FleetSnapshot) -> None:
    """Assert that a solve on counts alone makes a legal plan that is not worse than staying."""
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=0, neighbourhoods_max=4))
    assert check_plan(snapshot, found.plan) == []
    assert found.report.score.penalty <= found.report.stay.penalty + 1e-6
