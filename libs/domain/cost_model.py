"""The input of an owner's own cost model. It consists of plain arrays, so that the owner's package need not depend on
Plimsoll.
"""

from __future__ import annotations

from dataclasses import dataclass

from libs.domain.arrays import Floats, Ints, Names


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """Measurements of a world. S services, P products, R regions, M samples outside of drains and load tests.

    minute   (M,) int   ascending; minute 0 begins a day
    usage    (S, R, M)  in units of each service's own hardware type; nan: not reported
    traffic  (P, R, M)  requests per second at the product's gateways; nan: not reported
    calls    (S, P)     traced calls of a service for a product, each weighted by 1 / its sampling probability
    cpu      (S, P)     CPU instructions, weighted by 1 / sampling probability; 0 where traces do not state them
    requests (P,)       requests at the product's gateways, weighted by 1 / sampling probability
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
