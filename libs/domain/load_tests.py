"""Load tests, and the curves fitted to them: throughput against utilisation (Flux, 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

from libs.domain.arrays import Bools, Floats, Indices, Names


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadTests:
    """N measured points of throughput and utilisation. S services.

    service          (N,) int
    throughput       (N,)  requests per second and unit of the service's own capacity
    utilisation      (N,)  share of the capacity that was busy
    utilisation_max  (S,)  highest utilisation allowed while a region is lost; nan: the policy's limit applies
    """

    service: Indices
    throughput: Floats
    utilisation: Floats
    utilisation_max: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadModels:
    """The capacity models that load tests give. S services, P products.

    needed      (S, P)     capacity that serves all traffic of a product within the utilisation limit, in units of the
                           service's own type; 0 where there is no model
    tested      (S,) bool  whether there is a model
    points      (S,) int   number of points in the service's load tests
    limit       (S,)       highest utilisation allowed
    throughput  (S,)       requests per second and unit of capacity at the utilisation `limit`; nan: not known
    error       (S,)       root mean square error of the curve at points held out of the fit; nan: no curve
    reasons     (S,) tuple identifiers of the reasons for no model, or for low confidence in it
    """

    needed: Floats
    tested: Bools
    points: Indices
    limit: Floats
    throughput: Floats
    error: Floats
    reasons: Names
