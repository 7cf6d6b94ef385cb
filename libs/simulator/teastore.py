"""The TeaStore: a shop of five services, as a call graph with the CPU that each endpoint takes.

Source of teastore.csv and of the calls: TH Aschaffenburg, github.com/TH-Aschaffenburg-Software-Design,
teastore-service-demands (MIT), service_demands/default.csv and misim/architecture_model_default.json. The application
is that of von Kistowski et al., TeaStore, MASCOTS 2018. The three products and their mixes of pages are ours.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

Endpoint = tuple[str, str]
"""A service and one of its endpoints."""

PRODUCTS: Mapping[str, Mapping[str, float]] = {
    "browse": {"index": 0.2, "getCategoryById": 0.4, "getProductById": 0.4},
    "account": {"login": 0.4, "profile": 0.4, "logout": 0.2},
    "checkout": {"addToCart": 0.4, "getCart": 0.3, "proceedToCheckout": 0.15, "placeOrder": 0.15},
}
"""Product -> pages of `webui` -> their share of its requests."""
GATEWAY = "webui"
_FRAME = (("persistence", "getAllCategories"), ("auth", "isLoggedIn"), ("image", "getWebImages"))
_CALLS: Mapping[Endpoint, tuple[Endpoint, ...]] = {
    ("webui", "index"): _FRAME,
    ("webui", "getCategoryById"): (
        *_FRAME,
        ("persistence", "getCategoryById"),
        ("persistence", "countProductsByCategory"),
        ("persistence", "getProductsByCategory"),
        ("image", "getProductImages"),
    ),
    ("webui", "getProductById"): (
        ("persistence", "getAllCategories"),
        ("auth", "isLoggedIn"),
        ("persistence", "getProductById"),
        ("recommender", "recommend"),
        ("image", "getProductImages"),
    ),
    ("webui", "login"): (("auth", "login"),),
    ("webui", "logout"): (("auth", "logout"),),
    ("webui", "profile"): (*_FRAME, ("persistence", "getUserByName"), ("persistence", "getOrdersByUser")),
    ("webui", "addToCart"): (("auth", "addToCart"),),
    ("webui", "getCart"): (*_FRAME, ("persistence", "getProductById"), ("recommender", "recommend")),
    ("webui", "proceedToCheckout"): (("auth", "isLoggedIn"), ("auth", "updateQuantityInCart")),
    ("webui", "placeOrder"): (("auth", "placeOrder"),),
    ("auth", "login"): (("persistence", "getUserByName"),),
    ("auth", "addToCart"): (("persistence", "getProductById"),),
    ("auth", "placeOrder"): (("persistence", "createOrder"), ("persistence", "createOrderItem")),
}


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a request: its endpoint, its CPU seconds, and the position of its caller; None for the first."""

    service: str
    endpoint: str
    cpu_s: float
    caller: int | None


@cache
def cpu_seconds() -> Mapping[Endpoint, float]:
    """Return endpoint -> published CPU seconds of one call, without the calls that it makes."""
    with files("libs.simulator").joinpath("teastore.csv").open() as rows:
        return {(row["service"], row["endpoint"]): float(row["cpu_s"]) for row in csv.DictReader(rows)}


@cache
def calls_of(page: str) -> tuple[Call, ...]:
    """Return all calls of a request of a page of the gateway, callers first."""
    return tuple(_calls((GATEWAY, page), None, 0))


def _calls(endpoint: Endpoint, caller: int | None, position: int) -> Iterator[Call]:
    yield Call(*endpoint, cpu_seconds()[endpoint], caller)
    following = position + 1
    for called in _CALLS.get(endpoint, ()):
        found = list(_calls(called, position, following))
        following += len(found)
        yield from found


@cache
def cpu_per_request(product: str) -> Mapping[str, float]:
    """Return service -> CPU seconds that one request of the product takes of it, on average over its pages."""
    found: dict[str, float] = {}
    for page, share in PRODUCTS[product].items():
        for call in calls_of(page):
            found[call.service] = found.get(call.service, 0.0) + share * call.cpu_s
    return found


def services() -> tuple[str, ...]:
    """Return the names of all services."""
    return tuple(sorted({service for service, _ in cpu_seconds()}))
