"""What load tests measured, and the curves fitted to it: throughput against utilisation (Flux, 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

from libs.domain.fleet import Bools, Floats, Indices, Names


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadTests:
    """N points: a service served so much on a unit of capacity, and was so busy. S services.

    service          (N,) int
    throughput       (N,)  requests per second and unit of the service's own capacity
    utilisation      (N,)  share of that capacity that was busy
    utilisation_max  (S,)  how busy a service may be while a region is lost; nan: what the policy says
    """

    service: Indices
    throughput: Floats
    utilisation: Floats
    utilisation_max: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadModels:
    """What load tests say of a service. S services, P products.

    needed      (S, P)     capacity for all traffic of a product that keeps the service within its utilisation limit, in
                           units of its own type; 0 where load tests say nothing
    tested      (S,) bool  whether they say anything
    points      (S,) int   points of its load tests
    limit       (S,)       utilisation that it may reach
    throughput  (S,)       requests per second that a unit of capacity serves at that utilisation; nan: not known
    error       (S,)       root mean square of what the curve misses of points that it was not fitted to; nan: no curve
    reasons     (S,) tuple identifiers of why its tests say nothing, or why confidence in them is low
    """

    needed: Floats
    tested: Bools
    points: Indices
    limit: Floats
    throughput: Floats
    error: Floats
    reasons: Names
