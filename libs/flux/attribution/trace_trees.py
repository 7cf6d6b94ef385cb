"""Call trees: callers and nearest gateways of all spans of whole traces at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Bools, Floats, Indices
from libs.domain.spans import CLIENT, SERVER, Ids, Spans

Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trees:
    """The place of each of N spans in its call tree.

    parent     (N,) int    row of the caller; -1: none, or not among these spans
    product    (N,) int    product of the nearest upstream gateway, the span itself included; -1: there is none
    weight     (N,) float  requests of the real traffic that the span stands for: 1 / sampling probability
    orphan     (N,) bool   a caller above the span is missing, so product or weight may be wrong
    duplicate  (N,) bool   an earlier row is the same span
    """

    parent: Rows
    product: Indices
    weight: Floats
    orphan: Bools
    duplicate: Bools


def grow_trees(spans: Spans) -> Trees:
    """Return every span's caller, product and weight by pointer doubling: O(N log N) to sort, log(depth) passes."""
    parent, missing, duplicate = _callers(spans)
    rows = np.arange(len(spans))
    up = np.where(parent >= 0, parent, rows)
    product = spans.gateway.copy()
    stated = np.where(spans.probability > 0, spans.probability, np.nan)
    for _ in range(max(1, len(spans).bit_length())):
        product = np.where(product >= 0, product, product[up])
        stated = np.where(np.isnan(stated), stated[up], stated)
        further = up[up]
        if np.array_equal(further, up):
            break
        up = further
    broken = missing[up] | (parent[up] >= 0)  # if the end of a chain has a caller, the chain is a circle
    return Trees(
        parent=parent,
        product=product,
        weight=1.0 / np.minimum(np.where(np.isnan(stated), 1.0, stated), 1.0),
        orphan=broken & ((product < 0) | np.isnan(stated)),
        duplicate=duplicate,
    )


def calls_of(spans: Spans, trees: Trees) -> Bools:
    """Return the (N,) bool mask of spans that are a call which their service received.

    A span of kind SERVER is such a call. A span without a kind is a call if its caller is another service, or if the
    span has no caller.
    """
    caller = np.where(trees.parent >= 0, spans.service[trees.parent], -1)
    return np.asarray((spans.kind == SERVER) | ((spans.kind != CLIENT) & (caller != spans.service)))


def self_time_of(spans: Spans, trees: Trees) -> Floats:
    """Return the (N,) duration in ns of each span, less the durations of its callees. The result is at least 0, because
    callees may run in parallel.
    """
    took = np.maximum(spans.took_ns, 0).astype(np.float64)
    called = np.flatnonzero((trees.parent >= 0) & ~trees.duplicate)
    below = np.bincount(trees.parent[called], took[called], len(spans))
    return np.asarray(np.maximum(took - below, 0.0))


def _callers(spans: Spans) -> tuple[Rows, Bools, Bools]:
    """Return (N,) arrays: the row of the caller or -1, callers that are named but missing, and duplicates."""
    key = spans.trace ^ spans.span
    order = np.lexsort((~spans.shared, key))  # the server's half first: its callees name the shared id
    ordered, shared = key[order], spans.shared[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]] if len(order) else np.zeros(0, bool)
    again = ~first & (np.r_[False, shared[1:] == shared[:-1]] if len(order) else first)
    duplicate = np.zeros(len(spans), bool)
    duplicate[order[again]] = True
    heads = np.flatnonzero(first)
    parent = _find(spans.trace ^ spans.parent, ordered[heads], order[heads])
    parent[spans.parent == 0] = -1
    halves = np.flatnonzero(~first & ~again)  # a client's half, right after its server's half
    server = order[heads[np.searchsorted(heads, halves, "right") - 1]]
    parent[server] = order[halves]
    rows = np.arange(len(spans))
    parent[parent == rows] = -1
    missing = (parent < 0) & (spans.parent != 0) & (spans.parent != spans.span)
    return parent, missing, duplicate


def _find(wanted: Ids, ordered: Ids, rows: Rows) -> Rows:
    if not len(ordered):
        return np.full(len(wanted), -1, np.intp)
    at = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return np.where(ordered[at] == wanted, rows[at], -1)
