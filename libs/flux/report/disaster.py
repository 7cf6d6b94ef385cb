"""Disaster readiness of a plan: the loss of a region that decides the size of each load-tested service."""

from __future__ import annotations

from typing import Any

import numpy as np

from libs.domain.world import PlanningInputs, ServiceModels, Vocabulary
from libs.flux.models.load_models import fit_load_models
from libs.flux.program.placement import OUTLASTS, Solved
from libs.flux.program.problem import JointProblem
from libs.flux.program.region_loss import simulate_losses


def disaster_document(
    words: Vocabulary, models: ServiceModels, inputs: PlanningInputs, p: JointProblem, solved: Solved
) -> dict[str, Any]:
    """Return the load-test results per service, and the need after the worst region loss per step and region.

    Capacities are in units of the service's own hardware type. `lacking` is the need beyond the planned capacity.
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
    }
