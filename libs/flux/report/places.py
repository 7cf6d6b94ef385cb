"""The plan by place as a document: capacity of services and traffic of products by region, and shifts between regions.

It is much smaller than the plan and its DAG, so that pages can show plans of many services.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from libs.domain.arrays import Floats
from libs.domain.execution_plan import Phase
from libs.flux.planning import Planned

_DIGITS = 6


def places_document(planned: Planned) -> dict[str, Any]:
    """Return capacity and traffic by region, now and in the first step, and the shifts of the first step.

    Capacity and growth are in units of the service's own hardware type. Traffic is a share of the product's present
    traffic. A shift is a share of the product's traffic. Lists over regions have the order of `regions`.
    """
    words, p, plan = planned.words, planned.problem, planned.solved.plan
    now, after, growth = p.own(p.kappa), p.own(plan.capacity[0]), p.own(plan.growth[0])
    return {
        "step": int(plan.step[0]),
        "regions": [str(region) for region in words.regions],
        "services": [
            {
                "service": str(words.services[s]),
                "hardware_type": str(words.hardware_types[words.service_type[s]]),
                "now": _row(now[s]),
                "planned": _row(after[s]),
                "growth": _row(growth[s]),
            }
            for s in np.flatnonzero(planned.models.modelled)
        ],
        "products": [
            {"product": str(product), "now": _row(p.xi[q]), "planned": _row(plan.traffic[0, q])}
            for q, product in enumerate(words.products)
        ],
        "shifts": [
            {
                "product": action.product,
                "from_region": action.region,
                "to_region": action.to_region,
                "share": round(action.after, _DIGITS),
            }
            for action in planned.execution.actions
            if action.phase is Phase.SHIFT
        ],
    }


def _row(values: Floats) -> list[float]:
    return [round(float(value), _DIGITS) + 0.0 for value in values]
