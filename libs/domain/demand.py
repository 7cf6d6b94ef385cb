"""The demand baseline: the cost of each product's traced requests in each service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from libs.domain.arrays import Floats
from libs.domain.calls import Calls

GROUPS = 16
"""Number of groups that the traces are split into by trace id. The variance between groups estimates the sampling
error.
"""
METRICS = ("cpu", "calls", "self_time")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demand:
    """Sums over spans for S services and P products. Each span counts 1 / (its sampling probability).

    cost         metric -> (GROUPS, S, P)   instructions, calls, or seconds of self time
    gateway      (GROUPS, P)   requests at the products' entry points
    spans        (S,) int      spans seen, without duplicates
    attributed   (S,) int      part of `spans` with a gateway upstream
    orphaned     (S,) int      part of `spans` whose product or weight is in doubt because an ancestor is missing
    cpu_stated   (S,) int      part of `spans` that states CPU instructions
    edges        Calls         calls from one service to another
    duplicates   int           spans that came twice
    """

    cost: dict[str, Floats]
    gateway: Floats
    spans: Floats
    attributed: Floats
    orphaned: Floats
    cpu_stated: Floats
    edges: Calls
    duplicates: int

    @classmethod
    def none(cls, services: int, products: int) -> Demand:
        """Return the demand of no spans."""
        nothing = np.zeros(services)
        return cls(
            cost={m: np.zeros((GROUPS, services, products)) for m in METRICS},
            gateway=np.zeros((GROUPS, products)),
            spans=nothing,
            attributed=nothing,
            orphaned=nothing,
            cpu_stated=nothing,
            edges=Calls.none(),
            duplicates=0,
        )

    def of_services(self, rows: Sequence[int]) -> Demand:
        """Return the demand of the services `rows`, in the order of `rows`. A row of -1 gives a service without any
        demand, for a service that no trace names.
        """
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
            edges=self.edges.of_services(at),
        )

    def plus(self, other: Demand) -> Demand:
        """Return the sum of this demand and `other`. `other` may have more services, and must have the services of this
        demand first.
        """
        services = len(other.spans)
        wider = ((0, services - len(self.spans)),)
        return Demand(
            cost={m: np.pad(self.cost[m], ((0, 0), *wider, (0, 0))) + other.cost[m] for m in METRICS},
            gateway=self.gateway + other.gateway,
            spans=np.pad(self.spans, wider) + other.spans,
            attributed=np.pad(self.attributed, wider) + other.attributed,
            orphaned=np.pad(self.orphaned, wider) + other.orphaned,
            cpu_stated=np.pad(self.cpu_stated, wider) + other.cpu_stated,
            edges=self.edges.plus(other.edges),
            duplicates=self.duplicates + other.duplicates,
        )
