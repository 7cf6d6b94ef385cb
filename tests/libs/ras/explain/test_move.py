"""Check the effect of one move against the evaluator on single servers."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from libs.domain.fleet import FREE, TargetPlan
from libs.plan_check.check import check_plan
from libs.ras.evaluate import coverage_of, evaluate
from libs.ras.explain.move import alternatives, move_effect
from libs.ras.explain.words import effect_words, server_words
from tests.builders.random_region import random_region, region

MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


@MANY
@given(st.integers(0, 2**32 - 1))
def test_every_term_is_recomputed(seed):
    rng = np.random.default_rng(seed)
    snapshot = random_region(rng, 12, 3)
    row, to = int(rng.integers(12)), int(rng.integers(-1, 3))
    effect = move_effect(snapshot, row, to)
    there = np.maximum(snapshot.servers.target, FREE)
    assert effect.before == evaluate(snapshot, there)
    there[row] = to
    assert effect.after == evaluate(snapshot, there)
    covered = coverage_of(snapshot, there)
    for one in effect.affected:
        r = snapshot.reservations.name.tolist().index(one.reservation)
        assert one.after.shortfall_rru == pytest.approx(covered.shortfall[r], abs=1e-9)
    legal = not effect.violations
    assert legal == (not check_plan(snapshot, TargetPlan(target=there, parent_plan_id=snapshot.target_plan_id)))
    assert effect_words(effect)


def test_the_nearest_alternatives_are_free_and_who_would_gain_most():
    snapshot = region(servers=[(0, 0, 0), (1, 0, 0), (2, 0, 0)], capacity=[1, 0, 5], survives=[False, False, False])
    found = alternatives(snapshot, 0)
    assert [effect.to_reservation for effect in found] == [None, "r2", "r1"]
    assert found[1].costs < found[0].costs
    assert "s0 would serve better elsewhere" in server_words(found, asked=False)
    assert "shortfall by 1000" in effect_words(found[1])


def test_a_server_that_is_needed_is_best_where_it_is():
    snapshot = region(servers=[(0, 0, 0)], capacity=[1], survives=[False])
    [free] = alternatives(snapshot, 0)
    assert [v.reason for v in free.violations] == ["ShortfallGrows"]
    assert "because every other place breaks a rule (r0 would be short of 1" in server_words([free], asked=False)


def test_a_free_server_that_nobody_needs_is_best_free():
    snapshot = region(servers=[(0, 0, 0), (1, 0, FREE)], capacity=[1], survives=[False])
    said = server_words(alternatives(snapshot, 1), asked=False)
    assert said.startswith("s1 is best where it is, free. The next best: s1 in r0 would cost ")
