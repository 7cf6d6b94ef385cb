"""Load-test-induced models: what capacity a service needs in order not to be too busy (Flux, 4.2)."""

from __future__ import annotations

import numpy as np

from libs.domain.load_tests import LoadModels, LoadTests
from libs.domain.world import ServiceModels
from libs.flux.load_curve import NoCurveError, fit_load_curve

ERROR_MAX = 0.05
"""What a curve may miss of the utilisation before confidence in it is low."""


def fit_load_models(models: ServiceModels, tests: LoadTests, utilisation_max: float) -> LoadModels:
    """Fit a curve to each service's points and read from it what its traffic needs.

        needed[s, p]  =  throughput[s] attribution[s, p] / q[s]

    throughput   (S,)    requests per second that the service gets worldwide at peak
    attribution  (S, P)  of which product they are, weighed by their cost: a load test runs the mix of today
    q            (S,)    requests per second that a unit of capacity serves at the utilisation limit

    A service whose tests bear no curve, or whose throughput nobody knows, keeps its linear model; reasons says why.
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
