"""What Flux decides: where capacity and traffic go, step by step."""

from __future__ import annotations

from dataclasses import dataclass

from libs.domain.fleet import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacementPlan:
    """T steps; P products, R regions, H hardware types, S services, K placements. All in the units of the world.

    step              (T,) int    their numbers
    traffic           (T, P, R)   x, share of a product's traffic of today
    capacity          (T, K, R)   c, in units of the placement's hardware type
    growth            (T, K, R)   g, inorganic growth on top
    residual          (T, S, R)   r, in units of the service's own type
    granted           (T, S)      share of the growth asked for that is given; 1 where none was asked for
    deficit           (T, H, R)   d, hardware that would be needed beyond the supply
    spare             (T, H, R)   s, hardware left over
    double_occupancy  (T, H, R)   o, freed in this step, and so not there for upsizes yet
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
