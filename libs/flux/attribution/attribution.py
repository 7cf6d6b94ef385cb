"""Attribution: the share of a service's demand that comes from each product, and its standard error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools, Floats
from libs.domain.demand import GROUPS, Demand


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attribution:
    """The attribution of demand to products by one metric.

    share     (S, P)   fractions of a service's demand by product; a row sums to 1, or to 0 if nothing was traced
    sampling  (S,)     standard error of the share due to few spans, as a distance (half the sum of differences)
    spread    (S, P)   standard error of a product's demand due to few spans, as a share of the service's demand
    """

    share: Floats
    sampling: Floats
    spread: Floats


def attribute(demand: Demand, metric: str, requests_per_s: Floats) -> Attribution:
    """Return the attribution by a metric: the cost of one request of a product, times the product's requests.

        share[s, p]  ~  requests_per_s[s, p] * sum of cost[s, p] / sum of gateway[p]

    requests_per_s  (S, P)  measured in the service's peak window; nan: not measured, then the traced requests count

    The number of sampled requests of a product cancels out. A sampling probability that is misreported for a whole
    product cancels out too. Source: Flux, 3.2.1; weighting by measured traffic is docs/adr/0017.
    """
    cost, gateway = demand.cost[metric], demand.gateway
    whole = _demand(cost.sum(0), gateway.sum(0), requests_per_s)
    share = _shares(whole)
    total = whole.sum(1, keepdims=True)
    moved, spread = np.zeros(len(share)), np.zeros_like(share)
    for group in range(GROUPS):  # jackknife: leave out one group of traces
        without = _demand(cost.sum(0) - cost[group], gateway.sum(0) - gateway[group], requests_per_s)
        moved += (0.5 * np.abs(_shares(without) - share).sum(1)) ** 2
        spread += np.divide(without - whole, total, out=np.zeros_like(share), where=total > 0) ** 2
    inflated = (GROUPS - 1) / GROUPS
    return Attribution(share=share, sampling=np.sqrt(inflated * moved), spread=np.sqrt(inflated * spread))


def untraced(demand: Demand, requests_per_s: Floats) -> Bools:
    """Return the (P,) products that have traffic but no traced request. Nothing can be attributed to them."""
    return np.asarray((np.nan_to_num(requests_per_s).max(0, initial=0.0) > 0) & (demand.gateway.sum(0) <= 0))


def calls_per_s(demand: Demand, requests_per_s: Floats) -> Floats:
    """Return the (S,) calls per second of each service: calls per request of a product, times its requests, summed."""
    return np.asarray(_demand(demand.cost["calls"].sum(0), demand.gateway.sum(0), requests_per_s).sum(1))


def _shares(demand: Floats) -> Floats:
    total = demand.sum(1, keepdims=True)
    return np.asarray(np.divide(demand, total, out=np.zeros_like(demand), where=total > 0))


def _demand(cost: Floats, gateway: Floats, requests_per_s: Floats) -> Floats:
    traced = gateway > 0
    measured = np.isfinite(requests_per_s) & traced
    seen = (gateway * measured).sum(1)
    scale = np.divide(np.where(measured, requests_per_s, 0.0).sum(1), seen, out=np.ones(len(cost)), where=seen > 0)
    rate = np.where(measured, np.nan_to_num(requests_per_s), scale[:, None] * gateway)
    return np.asarray(np.divide(cost, gateway, out=np.zeros_like(cost), where=traced) * rate)
