"""Service models: the capacity that a service needs for a mix of traffic, and the confidence in it (Flux, 3.2.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import nnls

from libs.domain.arrays import Bools, Floats, Names
from libs.domain.cost_model import Measured
from libs.domain.demand import Demand
from libs.domain.world import Observations, ServiceModels, Vocabulary
from libs.flux.attribution.attribution import Attribution, attribute, calls_per_s, untraced
from libs.flux.models.baseline import UsageBaseline, measure_baseline
from libs.flux.models.cost_models import installed_attributions
from libs.flux.models.model_error import ModelErrors, model_errors, score
from libs.flux.models.thin_traces import weigh

SAMPLING_WEAK = 0.03
"""Standard error of the attribution, as a distance, above which usage and traffic are weighed against the traces."""
WEIGHINGS = 2
"""Number of times that traces are weighed against usage. The noise of the usage is known only after the first time, so
a second time is needed.
"""
CONTRADICTION = 3.0
"""Distance of an attribution from the traced one, in standard errors, above which usage contradicts the traces."""
EVIDENCE = 3.0
"""Gain in log-likelihood of the usage that another metric needs before it replaces stated CPU."""
SPANS_MIN = 100
"""Number of spans below which confidence is low."""
SAMPLING_MAX = 0.10
"""Standard error of the attribution, as a distance, above which confidence is low."""
ERROR_MAX = 0.20
"""Model error, as a share of the usage, above which confidence is low."""
COVERAGE_MIN = 0.80
"""Share of a service's spans with a known gateway below which confidence is low."""
UNTRACED_MAX = 0.05
"""Share of the traffic that belongs to products without a traced request, above which confidence in all is low."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Fit:
    """The attribution of every service by one metric.

    traced  the attribution by traces alone; a fit to the traffic for services without traces
    share   (S, P)  the attribution; for thin services (few spans), traces are weighed against the usage
    strain  (S,)    distance of `share` from the traces: half the sum of squares, in standard errors
    """

    metric: str
    usable: Bools
    traced: Attribution
    share: Floats
    strain: Floats
    errors: ModelErrors


def fit_service_models(
    words: Vocabulary, seen: Observations, demand: Demand, custom: Floats | None = None
) -> ServiceModels:
    """Fit every metric for every service, and keep the metric that explains the measured usage best.

    demand  one row per service of `words`
    custom  (S, P)  attributions by owners' cost models, which replace the fit (Flux, 3.6); nan: none. Installed cost
                    models answer for services that are nan here

    The metrics are CPU instructions, if traces state them, and call counts. Self time includes waiting, so it is a
    metric only if traces state no CPU. A service without attributed spans is fitted to the traffic instead. For a
    service with few spans, the traces are weighed against its usage. A fit to the traffic replaces even that if it
    explains the usage much better. The metric is then the one with the nearest attribution.

    Raises CostModelError.
    """
    baseline = measure_baseline(words, seen)
    own = _own_use(words, seen)
    custom = installed_attributions(_measured(words, seen, demand, own), custom)
    kappa = np.zeros((len(words.services), len(words.regions)))
    np.add.at(kappa, words.placement_service, baseline.placed * words.placement_ratio[:, None])
    capacity = kappa.sum(1)
    fallback = _fit_to_traffic(own, seen, baseline)
    requests = np.where(np.isnan(seen.traffic).all((1, 2)), np.nan, baseline.traffic_at)
    fits = []
    for metric, usable in _candidates(demand).items():
        found = attribute(demand, metric, requests)
        shown = usable & (found.share.sum(1) > 0)
        traced = replace(found, share=np.where(shown[:, None], found.share, fallback))
        share, strain = traced.share, np.zeros(len(capacity))
        errors = model_errors(own, seen, baseline, kappa, capacity[:, None] * share)
        for _ in range(WEIGHINGS):
            share, strain = weigh(traced, errors, own, seen, baseline, shown & (found.sampling > SAMPLING_WEAK))
            errors = model_errors(own, seen, baseline, kappa, capacity[:, None] * share)
        fits.append(_Fit(metric=metric, usable=usable, traced=traced, share=share, strain=0.5 * strain, errors=errors))
    # The best metric shows the noise.
    samples = np.max([np.where(fit.usable, fit.errors.samples, 0.0) for fit in fits], 0)
    R = len(words.regions)
    scores = np.array([np.where(fit.usable, score(fit.errors, samples) + fit.strain / R, np.inf) for fit in fits])
    margin = np.array([0.0 if fit.metric == "cpu" else EVIDENCE / R for fit in fits])
    best = np.argmin(scores + margin[:, None], 0)  # scores are per region; CPU wins a tie
    rows = np.arange(len(best))
    share = np.stack([fit.share for fit in fits])[best, rows]
    error = np.stack([fit.errors.total for fit in fits])[best, rows]
    sampling = np.stack([fit.traced.sampling for fit in fits])[best, rows]
    fitted = model_errors(own, seen, baseline, kappa, capacity[:, None] * fallback)
    fitted_score = score(fitted, samples) + _penalty(words, samples, fallback)
    by_use = (sampling > SAMPLING_WEAK) & (fitted_score < scores[best, rows])
    apart = np.array([0.5 * np.abs(fit.traced.share - fallback).sum(1) for fit in fits])
    best = np.where(by_use, np.argmin(np.where([fit.usable for fit in fits], apart, np.inf), 0), best)
    share, error = np.where(by_use[:, None], fallback, share), np.where(by_use, fitted.total, error)
    said = np.stack([fit.traced.share for fit in fits])[best, rows]
    contradicts = (demand.attributed > 0) & (0.5 * np.abs(share - said).sum(1) > CONTRADICTION * sampling)
    contradicts &= sampling > SAMPLING_WEAK
    named: Names = np.array([fits[b].metric for b in best], object)
    by_traces: Bools = np.asarray(np.isnan(custom).any(axis=1), bool)
    if not by_traces.all():
        share = np.where(by_traces[:, None], share, custom)
        stated = model_errors(own, seen, baseline, kappa, capacity[:, None] * share)
        error, sampling = np.where(by_traces, error, stated.total), np.where(by_traces, sampling, 0.0)
        named[~by_traces] = "custom"
    coverage = np.divide(demand.attributed, demand.spans, out=np.zeros(len(best)), where=demand.spans > 0)
    lost = untraced(demand, requests)
    world = np.nan_to_num(baseline.traffic_at).max(0, initial=0.0)
    known = np.isfinite(requests).any(1) & (demand.attributed > 0)
    blind = world[lost].sum() > UNTRACED_MAX * world.sum()
    return ServiceModels(
        modelled=baseline.used,
        metric=named,
        capacity=capacity,
        attribution=share,
        baseline=baseline.placed,
        presence=baseline.presence,
        error=error,
        sampling=sampling,
        throughput=np.where(known, calls_per_s(demand, requests) / np.where(known, coverage, 1.0), 0.0),
        coverage=coverage,
        spans=demand.spans.astype(np.int64),
        reasons=_reasons(
            {
                "NoSpans": by_traces & (demand.attributed == 0),
                "FewSpans": by_traces & (demand.spans < SPANS_MIN) & (demand.attributed > 0),
                "FittedToUse": by_traces & contradicts,
                "SamplingError": sampling > SAMPLING_MAX,
                "ModelError": error > ERROR_MAX,
                "LowCoverage": by_traces & (coverage < COVERAGE_MIN) & (demand.spans > 0),
                "UntracedProducts": by_traces & blind,
            }
        ),
    )


def _measured(words: Vocabulary, seen: Observations, demand: Demand, own: Floats) -> Measured:
    return Measured(
        services=words.services,
        products=words.products,
        regions=words.regions,
        minute=seen.minute,
        usage=own,
        traffic=seen.traffic,
        calls=demand.cost["calls"].sum(0),
        cpu=demand.cost["cpu"].sum(0),
        requests=demand.gateway.sum(0),
    )


def _penalty(words: Vocabulary, samples: Floats, share: Floats) -> Floats:
    """Return the (S,) penalty of a fit for the number of its products: Bayes' information criterion."""
    regions = len(words.regions)
    return np.asarray((share > 0).sum(1) * np.log(samples * regions + 1) / regions)


def _candidates(demand: Demand) -> dict[str, Bools]:
    """Return metric -> (S,) mask of the services whose usage the metric may explain."""
    stated = demand.cpu_stated > 0.5 * demand.spans
    return {"cpu": stated, "calls": np.ones(len(stated), bool), "self_time": ~stated & (demand.spans > 0)}


def _own_use(words: Vocabulary, seen: Observations) -> Floats:
    """Return the (S, R, M) usage over all types of a service, in units of its own; nan if none was reported."""
    S = len(words.services)
    own = seen.usage[:S].copy()
    for k in range(S, len(seen.usage)):
        s, more = words.placement_service[k], seen.usage[k] * words.placement_ratio[k]
        own[s] = np.where(np.isnan(own[s]), more, own[s] + np.nan_to_num(more))
    return own


def _fit_to_traffic(own: Floats, seen: Observations, baseline: UsageBaseline) -> Floats:
    """Return (S, P) shares by non-negative least squares of usage on traffic: the estimate without traces."""
    S, P = len(own), len(seen.traffic)
    basis, triangle = np.linalg.qr(np.nan_to_num(seen.traffic).reshape(P, -1).T)
    used = np.nan_to_num(own).reshape(S, -1) @ basis
    weight = np.stack([nnls(triangle, row)[0] for row in used]) * baseline.traffic_at
    total = weight.sum(1, keepdims=True)
    return np.where(total > 0, weight / np.where(total > 0, total, 1.0), 1.0 / P)


def _reasons(found: dict[str, Bools]) -> Names:
    rows = np.stack(list(found.values()), 1)
    names = np.array(list(found), object)
    reasons = np.empty(len(rows), object)
    reasons[:] = [tuple(names[row]) for row in rows]
    return reasons
