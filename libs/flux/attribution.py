"""Per service and metric: which product its demand comes from, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.demand import GROUPS, Demand
from libs.domain.fleet import Bools, Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attribution:
    """By one metric.

    share     (S, P)   fractions of a service's demand by product; a row sums to 1, or to 0 where nothing was traced
    sampling  (S,)     standard error of the share for want of spans, as a distance (half the sum of differences)
    spread    (S, P)   standard error of a product's demand for want of spans, as a share of the service's
    """

    share: Floats
    sampling: Floats
    spread: Floats


def attribute(demand: Demand, metric: str, requests_per_s: Floats) -> Attribution:
    """Cost of one request of a product, times the product's requests.

        share[s, p]  ~  requests_per_s[s, p] * sum of cost[s, p] / sum of gateway[p]

    requests_per_s  (S, P)  measured in the service's peak window; nan: not measured, then what the traces count

    How many requests of each product happened to be sampled cancels out, and so does a sampling probability that is
    misreported for a whole product. Source: Flux, 3.2.1; weighing by measured traffic is docs/adr/0017.
    """
    cost, gateway = demand.cost[metric], demand.gateway
    whole = _demand(cost.sum(0), gateway.sum(0), requests_per_s)
    share = _shares(whole)
    total = whole.sum(1, keepdims=True)
    moved, spread = np.zeros(len(share)), np.zeros_like(share)
    for group in range(GROUPS):  # the jackknife: how far it moves when a group of traces is left out
        without = _demand(cost.sum(0) - cost[group], gateway.sum(0) - gateway[group], requests_per_s)
        moved += (0.5 * np.abs(_shares(without) - share).sum(1)) ** 2
        spread += np.divide(without - whole, total, out=np.zeros_like(share), where=total > 0) ** 2
    inflated = (GROUPS - 1) / GROUPS
    return Attribution(share=share, sampling=np.sqrt(inflated * moved), spread=np.sqrt(inflated * spread))


def untraced(demand: Demand, requests_per_s: Floats) -> Bools:
    """(P,) products with traffic of which no request was traced: nothing can be attributed to them."""
    return np.asarray((np.nan_to_num(requests_per_s).max(0, initial=0.0) > 0) & (demand.gateway.sum(0) <= 0))


def calls_per_s(demand: Demand, requests_per_s: Floats) -> Floats:
    """(S,) calls that a service gets, of all products: calls of one request, times the product's requests."""
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
