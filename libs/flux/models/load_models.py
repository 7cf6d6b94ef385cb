"""Models from load tests: the capacity that keeps a service within its utilisation limit (Flux, 4.2)."""

from __future__ import annotations

import numpy as np

from libs.domain.load_tests import LoadModels, LoadTests
from libs.domain.world import ServiceModels
from libs.flux.models.load_curve import NoCurveError, fit_load_curve

ERROR_MAX = 0.05
"""Largest error of a curve, in utilisation, at which confidence in it is still high."""


def fit_load_models(models: ServiceModels, tests: LoadTests, utilisation_max: float) -> LoadModels:
    """Fit a curve to each service's points, and derive the capacity that its traffic needs.

        needed[s, p]  =  throughput[s] attribution[s, p] / q[s]

    throughput   (S,)    requests per second of the service, worldwide at peak
    attribution  (S, P)  shares of the products, weighted by cost; a load test runs today's mix of requests
    q            (S,)    requests per second that a unit of capacity serves at the utilisation limit

    A service keeps its linear model if no curve fits its tests or its throughput is unknown; `reasons` says why.
    """
    S, P = models.attribution.shape
    needed, limit = np.zeros((S, P)), np.where(np.isnan(tests.utilisation_max), utilisation_max, tests.utilisation_max)
    served, error = np.full(S, np.nan), np.full(S, np.nan)
    points = np.bincount(tests.service, minlength=S).astype(np.int32)
    reasons = np.empty(S, object)
    reasons[:] = [()] * S
    for s in np.flatnonzero(points):
        mine = tests.service == s
        try:
            curve = fit_load_curve(tests.throughput[mine], tests.utilisation[mine])
            served[s], error[s] = curve.throughput(limit[s]), curve.error
        except NoCurveError as failed:
            reasons[s] = (failed.reason,)
            continue
        if not (models.modelled[s] and models.throughput[s] > 0):
            reasons[s] = ("ThroughputUnknown",)
            continue
        needed[s] = models.throughput[s] * models.attribution[s] / served[s]
        beyond = curve.utilisation(np.array([curve.q_max]))[0] < limit[s]
        low = {"FitError": curve.error > ERROR_MAX, "LimitNotTested": beyond}
        reasons[s] = tuple(name for name, holds in low.items() if holds)
    return LoadModels(
        needed=needed,
        tested=np.asarray(needed.any(1), bool),
        points=points,
        limit=limit,
        throughput=served,
        error=error,
        reasons=reasons,
    )
