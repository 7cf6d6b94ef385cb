"""What an owner's own cost model is told: plain arrays, so that such a package depends on nothing of ours."""

from __future__ import annotations

from dataclasses import dataclass

from libs.domain.fleet import Floats, Ints, Names


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """What was measured of a world. S services, P products, R regions, M samples outside of drains and load tests.

    minute   (M,) int   ascending; minute 0 begins a day
    usage    (S, R, M)  in units of each service's own hardware type; nan: not reported
    traffic  (P, R, M)  requests per second at the product's gateways; nan: not reported
    calls    (S, P)     calls of a service that traces count for a product, each weighed by its sampling
    cpu      (S, P)     CPU instructions, likewise; 0 where traces do not state them
    requests (P,)       requests at the product's gateways, likewise
    """

    services: Names
    products: Names
    regions: Names
    minute: Ints
    usage: Floats
    traffic: Floats
    calls: Floats
    cpu: Floats
    requests: Floats
