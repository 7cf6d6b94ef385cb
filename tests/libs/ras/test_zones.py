"""The choice of domains of all reservations together (docs/designs/0054)."""

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from libs.domain.domain_limits import DomainLimit
from libs.domain.fleet import FREE
from libs.plan_check.check import check_plan
from libs.plan_check.hard_limits import excess
from libs.plan_check.regression import check_regression, penalties
from libs.ras.solve import plan_target_bindings
from tests.builders.random_region import region

SMALL = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


def within(**most):
    return [DomainLimit(kind=kind, domains_max=domains) for kind, domains in most.items()]


@SMALL
@given(st.integers(0, 2**32 - 1))
def test_no_choice_of_domains_of_two_kinds_costs_less_penalty_than_the_plan(seed):
    rng = np.random.default_rng(seed)
    S, R = int(rng.integers(4, 7)), 2
    blocks, pods = rng.integers(0, 2, S), rng.integers(0, 2, S)
    snapshot = region(
        msb_datacenter=(0, 0, 1),
        types=2,
        servers=[(int(rng.integers(3)), int(rng.integers(2)), FREE) for _ in range(S)],
        capacity=rng.integers(1, 4, R).astype(float),
        rru=[[1.0, rng.choice([1.0, 1.5])] for _ in range(R)],
        survives=rng.random(R) < 0.4,
        survives_loss_of=np.stack([rng.random(R) < 0.4, np.zeros(R, bool)], axis=1),
        affinity=np.where(rng.random((R, 2)) < 0.3, 0.5, np.nan),
        domains=[blocks.tolist(), pods.tolist()],
        limits=[within(**{str(rng.choice(["datacenter", "msb", "kind_0"])): 1, "kind_1": 1}) for _ in range(R)],
    )
    least = min(
        float(penalties(snapshot, binding).sum())
        for binding in (np.array(b, np.int32) for b in product((FREE, 0, 1), repeat=S))
        if excess(snapshot, binding) == 0 and not check_regression(snapshot, binding)
    )
    found = plan_target_bindings(snapshot)
    assert check_plan(snapshot, found.plan) == []
    assert found.report.score.penalty == pytest.approx(least, abs=1e-3)
