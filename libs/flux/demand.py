"""The demand baseline: what the traced requests of each product cost in each service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from libs.domain.fleet import Bools, Floats
from libs.domain.spans import Spans
from libs.flux.trace_trees import Trees, calls_of, grow_trees, self_time_of

GROUPS = 16
"""Traces are dealt into so many groups by their id: how far the groups differ says how well the whole is known."""
METRICS = ("cpu", "calls", "self_time")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demand:
    """Sums over spans, each standing for 1 / (its sampling probability) requests. S services, P products.

    cost         metric -> (GROUPS, S, P)   instructions, calls, or seconds of self time
    gateway      (GROUPS, P)   requests at the products' entry points
    spans        (S,) int      spans seen, duplicates left out
    attributed   (S,) int      of these, spans that have a gateway upstream
    orphaned     (S,) int      of these, spans whose way up is broken before it says what it must
    cpu_stated   (S,) int      of these, spans that state CPU instructions
    edges        (S, S) int    calls seen from one service to another
    duplicates   int           spans that came twice
    """

    cost: dict[str, Floats]
    gateway: Floats
    spans: Floats
    attributed: Floats
    orphaned: Floats
    cpu_stated: Floats
    edges: Floats
    duplicates: int

    @classmethod
    def of(cls, spans: Spans, services: int, products: int) -> Demand:
        """Attribute whole traces: each span's cost goes to the product of its nearest upstream gateway."""
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
        return cls(
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
            edges=_edges(spans, trees, calls & counted, services),
            duplicates=int(trees.duplicate.sum()),
        )

    @classmethod
    def none(cls, services: int, products: int) -> Demand:
        """No spans at all."""
        nothing = np.zeros(services)
        return cls(
            cost={m: np.zeros((GROUPS, services, products)) for m in METRICS},
            gateway=np.zeros((GROUPS, products)),
            spans=nothing,
            attributed=nothing,
            orphaned=nothing,
            cpu_stated=nothing,
            edges=np.zeros((services, services)),
            duplicates=0,
        )

    def of_services(self, rows: Sequence[int]) -> Demand:
        """The demand of those services only, in that order; -1: a service that no trace names."""
        at = np.asarray(rows, np.intp)

        def pick(value: Floats, axis: int) -> Floats:
            blank = np.zeros((*value.shape[:axis], 1, *value.shape[axis + 1 :]))
            return np.take(np.concatenate([value, blank], axis), at, axis)  # -1 is the blank one

        return replace(
            self,
            cost={m: pick(self.cost[m], 1) for m in METRICS},
            spans=pick(self.spans, 0),
            attributed=pick(self.attributed, 0),
            orphaned=pick(self.orphaned, 0),
            cpu_stated=pick(self.cpu_stated, 0),
            edges=pick(pick(self.edges, 0), 1),
        )

    def plus(self, other: Demand) -> Demand:
        """The demand of both. The other may know more services, never fewer."""
        services = len(other.spans)
        wider = ((0, services - len(self.spans)),)
        return Demand(
            cost={m: np.pad(self.cost[m], ((0, 0), *wider, (0, 0))) + other.cost[m] for m in METRICS},
            gateway=self.gateway + other.gateway,
            spans=np.pad(self.spans, wider) + other.spans,
            attributed=np.pad(self.attributed, wider) + other.attributed,
            orphaned=np.pad(self.orphaned, wider) + other.orphaned,
            cpu_stated=np.pad(self.cpu_stated, wider) + other.cpu_stated,
            edges=np.pad(self.edges, (*wider, *wider)) + other.edges,
            duplicates=self.duplicates + other.duplicates,
        )


def _edges(spans: Spans, trees: Trees, calls: Bools, services: int) -> Floats:
    rows = np.flatnonzero(calls & (trees.parent >= 0))
    pair = spans.service[trees.parent[rows]].astype(np.intp) * services + spans.service[rows]
    return np.bincount(pair, minlength=services * services).astype(np.float64).reshape(services, services)
