"""Compute the demand baseline from whole traces."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Bools, Floats
from libs.domain.calls import Calls
from libs.domain.demand import GROUPS, Demand
from libs.domain.spans import Spans
from libs.flux.attribution.trace_trees import Trees, calls_of, grow_trees, self_time_of


def demand_of(spans: Spans, services: int, products: int) -> Demand:
    """Attribute whole traces: the cost of each span goes to the product of its nearest upstream gateway."""
    trees = grow_trees(spans)
    calls, counted = calls_of(spans, trees), ~trees.duplicate
    known = counted & (trees.product >= 0) & ~trees.orphan
    group = (spans.trace % np.uint64(GROUPS)).astype(np.intp)
    shape = (GROUPS, services, products)
    cell = np.ravel_multi_index((group[known], spans.service[known], trees.product[known]), shape)

    def total(value: Floats) -> Floats:
        summed = np.bincount(cell, value[known] * trees.weight[known], int(np.prod(shape)))
        return summed.astype(np.float64, copy=False).reshape(shape)

    def count(rows: Bools) -> Floats:
        return np.bincount(spans.service[rows & counted], minlength=services).astype(np.float64)

    entries = known & (spans.gateway >= 0)
    at = group[entries] * products + spans.gateway[entries]
    gateway = np.bincount(at, trees.weight[entries], GROUPS * products).astype(np.float64, copy=False)
    return Demand(
        cost={
            "cpu": total(np.nan_to_num(spans.cpu)),
            "calls": total(calls.astype(np.float64)),
            "self_time": total(self_time_of(spans, trees) / 1e9),
        },
        gateway=gateway.reshape(GROUPS, products),
        spans=count(np.ones(len(spans), bool)),
        attributed=count(known),
        orphaned=count(trees.orphan),
        cpu_stated=count(~np.isnan(spans.cpu)),
        edges=_edges(spans, trees, calls & counted),
        duplicates=int(trees.duplicate.sum()),
    )


def _edges(spans: Spans, trees: Trees, calls: Bools) -> Calls:
    rows = np.flatnonzero(calls & (trees.parent >= 0))
    caller, callee = spans.service[trees.parent[rows]], spans.service[rows]
    return Calls.summed(caller.astype(np.int64), callee.astype(np.int64), np.ones(len(rows)))
