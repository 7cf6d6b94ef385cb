"""A placement plan: capacity and traffic by region, step by step."""

from __future__ import annotations

from dataclasses import dataclass

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
