import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from libs.domain.spans import CLIENT, INTERNAL, SERVER, Spans
from libs.flux.attribution.trace_trees import calls_of, grow_trees, self_time_of


def spans(rows):
    """Return spans. rows: dicts of span, parent, and other values than the defaults."""
    default = {
        "trace": 1,
        "service": 0,
        "gateway": -1,
        "kind": INTERNAL,
        "shared": False,
        "took_ns": 0,
        "cpu": np.nan,
        "probability": np.nan,
    }
    table = [default | row for row in rows]
    kinds = {"trace": np.uint64, "span": np.uint64, "parent": np.uint64, "service": np.int32, "gateway": np.int32}
    kinds |= {"kind": np.int8, "shared": bool, "took_ns": np.int64}
    fields = [*default, "span", "parent"]
    return Spans(**{f: np.array([row[f] for row in table], kinds.get(f, float)) for f in fields})


def test_a_span_belongs_to_its_nearest_gateway():
    found = grow_trees(
        spans(
            [
                {"span": 4, "parent": 3},
                {"span": 1, "parent": 0, "gateway": 0, "probability": 0.5},
                {"span": 3, "parent": 2, "gateway": 1},
                {"span": 2, "parent": 1},
            ]
        )
    )
    assert found.product.tolist() == [1, 0, 1, 0]
    assert found.weight.tolist() == [2.0] * 4
    assert not found.orphan.any()


def test_without_a_caller_neither_product_nor_weight_is_known():
    found = grow_trees(spans([{"span": 2, "parent": 9}, {"span": 3, "parent": 2}, {"span": 4, "parent": 4}]))
    assert found.orphan.tolist() == [True, True, False]
    below = grow_trees(spans([{"span": 2, "parent": 9, "gateway": 0, "probability": 0.1}, {"span": 3, "parent": 2}]))
    assert not below.orphan.any()
    assert below.weight.tolist() == [10.0, 10.0]


def test_a_circle_is_an_orphan_and_ends():
    found = grow_trees(spans([{"span": 1, "parent": 2}, {"span": 2, "parent": 1}, {"span": 3, "parent": 2}]))
    assert found.orphan.all()


def test_the_same_span_counts_once():
    found = grow_trees(spans([{"span": 1, "parent": 0}, {"span": 1, "parent": 0}]))
    assert found.duplicate.tolist() == [False, True]


def test_spans_of_two_traces_with_the_same_ids_are_not_mixed():
    rows = [{"span": 1, "parent": 0, "trace": t, "gateway": g} for t, g in ((7 << 40, 0), (9 << 40, 1))]
    rows += [{"span": 2, "parent": 1, "trace": t} for t in (7 << 40, 9 << 40)]
    assert grow_trees(spans(rows)).product.tolist() == [0, 1, 0, 1]


def test_both_halves_of_a_zipkin_call_share_an_id():
    table = spans(
        [
            {"span": 1, "parent": 0, "kind": SERVER},
            {"span": 2, "parent": 1, "kind": CLIENT},
            {"span": 2, "parent": 1, "kind": SERVER, "shared": True, "service": 1},
            {"span": 3, "parent": 2, "kind": CLIENT, "service": 1},
        ]
    )
    found = grow_trees(table)
    assert found.parent.tolist() == [-1, 0, 1, 2]
    assert not found.duplicate.any()
    assert calls_of(table, found).tolist() == [True, False, True, False]


def test_a_call_is_what_comes_from_elsewhere_where_nobody_says_a_kind():
    table = spans([{"span": 1, "parent": 0}, {"span": 2, "parent": 1}, {"span": 3, "parent": 2, "service": 1}])
    assert calls_of(table, grow_trees(table)).tolist() == [True, False, True]


def test_self_time_is_what_callees_did_not_take():
    table = spans(
        [
            {"span": 1, "parent": 0, "took_ns": 100},
            {"span": 2, "parent": 1, "took_ns": 30},
            {"span": 3, "parent": 1, "took_ns": 80},
        ]
    )
    assert self_time_of(table, grow_trees(table)).tolist() == [0.0, 30.0, 80.0]


@given(st.integers(0, 2**32 - 1))
def test_any_forest_in_any_order_agrees_with_walking_up(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    parent = [0 if i == 0 or rng.random() < 0.1 else int(rng.integers(1, i + 1)) for i in range(n)]
    gateway = [int(rng.integers(3)) if rng.random() < 0.3 else -1 for _ in range(n)]
    probability = [0.25 if p == 0 else np.nan for p in parent]
    order = rng.permutation(n)
    gone = set(np.flatnonzero(rng.random(n) < 0.1).tolist())
    kept = [int(i) for i in order if int(i) not in gone]
    rows = [{"span": i + 1, "parent": parent[i], "gateway": gateway[i], "probability": probability[i]} for i in kept]
    if not rows:
        return
    found = grow_trees(spans(rows))
    for at, i in enumerate(kept):
        product, up, broken = -1, i, False
        while True:
            product = gateway[up] if product < 0 else product
            if parent[up] == 0:
                break
            up = parent[up] - 1
            if up in gone:
                broken = True
                break
        assert found.orphan[at] == broken
        if not broken:
            assert found.product[at] == product
            assert found.weight[at] == 4.0
