"""Disaster readiness of a plan: the loss of a region that decides the size of each service, and what is not known."""

from __future__ import annotations

from typing import Any

import numpy as np

from libs.domain.arrays import Bools, Floats
from libs.domain.load_tests import LoadModels
from libs.domain.world import PlanningInputs, ServiceModels, Vocabulary
from libs.flux.models.load_models import fit_load_models
from libs.flux.program.placement import OUTLASTS, Solved
from libs.flux.program.problem import JointProblem
from libs.flux.program.region_loss import RegionLoss, simulate_losses

ESTIMATES_MAX = 1000
"""Largest number of places with an estimate in the document, those that lack most."""
NOT_MODELLED, NO_USE = "NotModelled", "NoUse"


def disaster_document(
    words: Vocabulary, models: ServiceModels, inputs: PlanningInputs, p: JointProblem, solved: Solved
) -> dict[str, Any]:
    """Return the need of all services after the worst region loss: from load tests, estimated, or not known.

    Capacities are in units of the service's own hardware type. `lacking` is the need beyond the planned capacity.

    services   results of load tests per service
    places     need per step, service and region, from load tests; the plan provides for it
    estimated  per service without a usable load test: the need by the linear model in the first step. The plan does not
               provide for it. A real need is higher, because the estimate has no limit on utilisation
    estimated_places   the places of these services that lack most
    unsized    services of the world whose need after a loss is not known, with the reason
    """
    found = fit_load_models(models, inputs.load_tests, inputs.policy.utilisation_max)
    loss = simulate_losses(p.load, solved.plan.traffic)
    planned, now = p.own(solved.plan.capacity), p.own(p.kappa)
    services = {
        str(words.services[s]): {
            "points": int(found.points[s]),
            "used": bool(found.tested[s]),
            "confidence": "low" if found.reasons[s] else "high",
            "reasons": list(found.reasons[s]),
            "error": None if np.isnan(found.error[s]) else float(found.error[s]),
            "utilisation_max": float(found.limit[s]),
            "throughput": None if np.isnan(found.throughput[s]) else float(found.throughput[s]),
        }
        for s in np.flatnonzero(found.points)
    }
    places = [
        {
            "step": int(solved.plan.step[t]),
            "service": str(words.services[s]),
            "region": str(words.regions[r]),
            "lost": str(words.regions[loss.decides[t, s, r]]),
            "needed": float(loss.needed[t, s, r]),
            "planned": float(planned[t, s, r]),
            "now": float(now[s, r]),
            "lacking": float(max(loss.needed[t, s, r] * (1 - OUTLASTS) - planned[t, s, r], 0.0)),
        }
        for t, s, r in zip(*np.nonzero(loss.needed > 0), strict=True)
    ]
    untested = models.modelled & ~found.tested
    return {
        "services": services,
        "places": places,
        "without_load_tests": int(untested.sum()),
        "capacity_without_load_tests": float(models.capacity[untested].sum() / max(models.capacity.sum(), 1e-300)),
        **_estimates(words, models, found, p, solved.plan.traffic[0], planned[0], now),
        "unsized": _unsized(words, models, found, now),
    }


def _estimates(
    words: Vocabulary,
    models: ServiceModels,
    found: LoadModels,
    p: JointProblem,
    traffic: Floats,
    planned: Floats,
    now: Floats,
) -> dict[str, Any]:
    """Return the need of services without load tests in the first step, by the linear model.

        needed[s,r]  =  max over l of  sum_p phi[s,p] y[p,r,l] + rho[s,r]

    traffic       (P, R)
    planned, now  (S, R)
    """
    sized = _estimated(models, found)
    loss = simulate_losses(np.where(sized[:, None], p.phi, 0.0), traffic[None])
    needed = np.where(sized[:, None], np.maximum(loss.needed[0] + models.residual(words), 0.0), 0.0)
    lacking = np.maximum(needed * (1 - OUTLASTS) - planned, 0.0)
    return {
        "estimated": {
            str(words.services[s]): {
                "confidence": "low" if models.reasons[s] else "high",
                "reasons": list(models.reasons[s]),
                "needed": float(needed[s].sum()),
                "planned": float(planned[s].sum()),
                "lacking": float(lacking[s].sum()),
                "lacking_regions": int((lacking[s] > 0).sum()),
            }
            for s in np.flatnonzero(sized)
        },
        "estimated_places": _worst(words, loss, needed, lacking, planned, now),
    }


def _worst(
    words: Vocabulary, loss: RegionLoss, needed: Floats, lacking: Floats, planned: Floats, now: Floats
) -> list[dict[str, Any]]:
    order = np.argsort(-lacking, axis=None, kind="stable")[:ESTIMATES_MAX]
    return [
        {
            "service": str(words.services[s]),
            "region": str(words.regions[r]),
            "lost": str(words.regions[loss.decides[0, s, r]]),
            "needed": float(needed[s, r]),
            "planned": float(planned[s, r]),
            "now": float(now[s, r]),
            "lacking": float(lacking[s, r]),
        }
        for s, r in zip(*np.unravel_index(order, lacking.shape), strict=True)
        if lacking[s, r] > 0
    ]


def _unsized(words: Vocabulary, models: ServiceModels, found: LoadModels, now: Floats) -> list[dict[str, Any]]:
    """Return the services whose need after a loss is not known, with the capacity that they hold as far as the plan
    knows it.
    """
    sized = found.tested | _estimated(models, found)
    return [
        {
            "service": str(words.services[s]),
            "reason": NO_USE if models.modelled[s] else NOT_MODELLED,
            "now": float(now[s].sum()),
        }
        for s in np.flatnonzero(~sized)
    ]


def _estimated(models: ServiceModels, found: LoadModels) -> Bools:
    """Return the services that the linear model sizes: modelled, with some use, and without a usable load test."""
    return np.asarray(models.modelled & ~found.tested & (models.capacity > 0), bool)
