"""A placement plan: capacity and traffic by region, step by step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacementPlan:
    """The decisions of Flux for T steps. P products, R regions, H hardware types, S services, K placements.

    step              (T,) int    numbers of the steps
    traffic           (T, P, R)   x, as a share of the product's present traffic
    capacity          (T, K, R)   c, in units of the placement's hardware type
    growth            (T, K, R)   g, inorganic growth, added to the capacity
    residual          (T, S, R)   r, in units of the service's own type
    granted           (T, S)      share of the requested growth that is granted; 1 where none was requested
    deficit           (T, H, R)   d, hardware needed beyond the supply
    spare             (T, H, R)   s, hardware left over
    double_occupancy  (T, H, R)   o, hardware freed in this step, which upsizes of this step cannot use yet
    """

    step: Ints
    traffic: Floats
    capacity: Floats
    growth: Floats
    residual: Floats
    granted: Floats
    deficit: Floats
    spare: Floats
    double_occupancy: Floats

    def presence(self, start: Floats) -> Floats:
        """Return the (T, P, R) share of each product's traffic in each region; a row sums to 1.

        start   (P, R) shares before the first step. A product without traffic keeps the shares that it had last.
        """
        found = np.empty_like(self.traffic)
        for t, traffic in enumerate(self.traffic):
            whole = traffic.sum(1, keepdims=True)
            found[t] = np.divide(traffic, whole, out=np.array(found[t - 1] if t else start), where=whole > 0)
        return found

    def moved(self, start: Floats) -> Floats:
        """Return the (T,) share of the traffic that moves between regions in each step, the mean over products.

        start   (P, R) shares before the first step. Growth alone moves nothing.
        """
        shares = np.concatenate([start[None], self.presence(start)])
        return np.asarray(0.5 * np.abs(np.diff(shares, axis=0)).sum(2).mean(1))
