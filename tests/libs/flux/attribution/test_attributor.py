import numpy as np
import pytest

from libs.domain.demand import METRICS
from libs.flux.attribution.attributor import Attributor
from libs.flux.attribution.demand import demand_of
from tests.libs.flux.attribution.test_trace_trees import spans


def forest(rng, traces):
    rows = []
    for t in range(traces):
        size = int(rng.integers(1, 8))
        for i in range(size):
            rows.append(
                {
                    "trace": (t + 1) << 32,
                    "span": i + 1,
                    "parent": 0 if i == 0 else int(rng.integers(1, i + 1)),
                    "service": int(rng.integers(4)),
                    "gateway": int(rng.integers(2)) if i == 0 or rng.random() < 0.1 else -1,
                    "cpu": float(rng.integers(1, 100)),
                    "took_ns": int(rng.integers(1, 100)),
                    "probability": 0.5 if i == 0 else np.nan,
                }
            )
    return rows


def totals(demand):
    return {m: demand.cost[m].sum(0) for m in METRICS} | {"gateway": demand.gateway.sum(0), "spans": demand.spans}


def test_spans_that_arrive_in_pieces_count_like_whole_traces():
    rng = np.random.default_rng(3)
    rows = forest(rng, 300)
    near = sorted(range(len(rows)), key=lambda i: i + rng.uniform(0, 60))
    table = spans([rows[i] for i in near])
    found = Attributor(products=2, window=200)
    for at in range(0, len(table), 37):
        found.add(table.take(slice(at, at + 37)), at, services=4)
        assert found.open_spans <= 600  # the open window and the spans since the last sweep
    demand = found.finish(services=4)
    whole = totals(demand_of(spans(rows), 4, 2))
    for name, value in totals(demand).items():
        assert value == pytest.approx(whole[name])
    assert found.late == 0
    assert demand.orphaned.sum() == 0


def test_what_comes_after_its_trace_was_closed_is_late():
    found = Attributor(products=1, window=10)
    root = {"trace": 5, "span": 1, "parent": 0, "gateway": 0}
    found.add(spans([root]), 0, services=1)
    for at in (20, 40):
        found.add(spans([{"trace": 100 + at, "span": 1, "parent": 0}]), at, services=1)
    found.add(spans([{"trace": 5, "span": 2, "parent": 1}]), 41, services=1)
    demand = found.finish(services=1)
    assert found.late == 1
    assert demand.spans.sum() == 3


def test_a_trace_that_never_ends_is_closed_all_the_same():
    found = Attributor(products=1, window=10)
    for at in range(200):
        found.add(spans([{"trace": 5, "span": at + 1, "parent": at, "gateway": 0}]), at, services=1)
        assert found.open_spans <= 60
    assert found.late > 0


def test_services_may_appear_while_reading():
    found = Attributor(products=1, window=2)
    for at in range(10):
        found.add(spans([{"trace": at + 1, "span": 1, "parent": 0, "gateway": 0, "service": at}]), at, services=at + 1)
    assert found.finish(services=10).spans.tolist() == [1.0] * 10
    assert found.finish(services=10).of_services([9, -1]).spans.tolist() == [1.0, 0.0]
