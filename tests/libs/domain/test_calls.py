"""Check sums of calls by pair of services against a dense matrix."""

import tracemalloc

import numpy as np
import pytest

from libs.domain.calls import Calls
from libs.domain.spans import SERVER, Spans
from libs.flux.attribution.demand import demand_of


def matrix(calls, services):
    dense = np.zeros((services, services))
    dense[calls.caller, calls.callee] = calls.count
    return dense


def some(seed, services=6, calls=40):
    rng = np.random.default_rng(seed)
    return Calls.summed(rng.integers(0, services, calls), rng.integers(0, services, calls), rng.uniform(1, 9, calls))


@pytest.mark.parametrize("seed", range(5))
def test_sums_are_those_of_the_dense_matrix(seed):
    one, other = some(seed), some(seed + 100, services=9, calls=12)
    assert np.unique(one.caller * 6 + one.callee).size == one.count.size
    assert matrix(one.plus(other), 9) == pytest.approx(np.pad(matrix(one, 6), (0, 3)) + matrix(other, 9))
    rows = np.array([4, -1, 0, 5, -1, 7])
    dense = np.pad(matrix(one, 6), (0, 3))
    picked = np.where(np.outer(rows >= 0, rows >= 0), dense[np.ix_(rows, rows)], 0.0)
    assert matrix(one.of_services(rows), 6) == pytest.approx(picked)
    assert one.between(2, 3) == pytest.approx(matrix(one, 6)[2, 3])
    assert matrix(Calls.none().plus(one), 6) == pytest.approx(matrix(one, 6))
    assert Calls.none().of_services(rows).count.size == 0


def test_thousands_of_services_take_no_square_of_memory():
    """A chain of calls through 20,000 services. Their square would take 3.2 GB."""
    S = 20_000
    chain = Spans(
        trace=np.ones(S, np.uint64),
        span=np.arange(1, S + 1, dtype=np.uint64),
        parent=np.arange(S, dtype=np.uint64),
        service=np.arange(S, dtype=np.int32),
        gateway=np.where(np.arange(S) == 0, 0, -1).astype(np.int32),
        kind=np.full(S, SERVER, np.int8),
        shared=np.zeros(S, bool),
        took_ns=np.ones(S, np.int64),
        cpu=np.ones(S),
        probability=np.ones(S),
    )
    tracemalloc.start()
    try:
        demand = demand_of(chain, S, 1).plus(demand_of(chain, S, 1))
        picked = demand.of_services(list(range(S)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert picked.edges.count.tolist() == [2.0] * (S - 1)
    assert peak < 300e6
