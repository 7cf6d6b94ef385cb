"""Documents and pictures for the review of a plan: the reasons of its changes, and the quality of its models."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from libs.flux.planning import Planned
from libs.flux.report.explain import Explanation, explain
from libs.pictures.bars import bars_svg, largest_first
from libs.pictures.heatmap import heatmap_svg

SERVICES_MAX = 40
"""Largest number of services in a picture; the largest services are shown."""
GROWTH = "Growth"
_DIGITS = 9
CHANGE_MIN = 1e-4
"""Share of a service's capacity below which a change is left out of the explanation."""


def review_of(planned: Planned) -> dict[str, str]:
    """Return the content of each file by its name: changes.json and the pictures."""
    why = explain(planned.problem, planned.solved)
    return {
        "changes.json": json.dumps(changes_document(planned, why), indent=1) + "\n",
        "presence.svg": _presence(planned),
        "pools.svg": _pools(planned),
        "residuals.svg": _residuals(planned),
        "models.svg": _models(planned),
    }


def _figure(value: float) -> float:
    """Return the value rounded, to remove the residue of adding floats, such as -4.7e-15."""
    return round(float(value), _DIGITS) + 0.0


def changes_document(planned: Planned, why: Explanation) -> dict[str, Any]:
    """Return the changes of the first step per service and region.

    Each change states the part that each product's traffic causes. It names the family of constraints that pulled this
    traffic, or GROWTH if more of it grew than moved.
    """
    words, p, plan = planned.words, planned.problem, planned.solved.plan
    before, after = p.own(p.kappa), p.own(plan.capacity[0])
    more = plan.traffic[0] - p.xi
    moved = plan.presence(p.xi)[0] - p.xi  # shares; the rest of `more` is growth
    changes = []
    small = CHANGE_MIN * planned.models.capacity[:, None]
    for s, r in zip(*np.nonzero(np.abs(after - before) > small), strict=True):
        parts = why.by_traffic[s, :, r]
        because = [
            {
                "product": str(words.products[q]),
                "capacity": _figure(parts[q]),
                "traffic": _figure(more[q, r]),
                "pulled_by": why.pulled_by(int(q), int(r), float(moved[q, r]))
                if abs(more[q, r] - moved[q, r]) <= abs(moved[q, r])
                else GROWTH,
            }
            for q in np.argsort(-np.abs(parts))
            if abs(parts[q]) > small[s, 0]
        ]
        changes.append(
            {
                "service": str(words.services[s]),
                "region": str(words.regions[r]),
                "before": _figure(before[s, r]),
                "after": _figure(after[s, r]),
                "because": because,
                "residual": _figure(why.by_residual[s, r]),
                "limit": planned.inputs.controls.reason[s, r] or None,
            }
        )
    return {
        "step": int(plan.step[0]),
        "changes": changes,
        "pull": {
            str(words.products[q]): {
                str(words.regions[r]): {str(f): _figure(why.pull[i, q, r]) for i, f in enumerate(why.pull_by)}
                for r in range(len(words.regions))
            }
            for q in np.flatnonzero(np.abs(moved).max(1) > CHANGE_MIN)
        },
        "hardware_price": {
            str(kind): {str(region): _figure(why.hardware[0, h, r]) for r, region in enumerate(words.regions)}
            for h, kind in enumerate(words.hardware_types)
        },
    }


def _presence(planned: Planned) -> str:
    words, x, xi = planned.words, planned.solved.plan.traffic[0], planned.problem.xi
    rows = [f"{product}, {region}" for product in words.products for region in words.regions]
    values = np.stack([xi.ravel(), x.ravel()], 1)
    return bars_svg("Traffic by product and region, first step", rows, ["now", "planned"], values, percent=True)


def _pools(planned: Planned) -> str:
    words, p, plan = planned.words, planned.problem, planned.solved.plan
    rows = [f"{region}, {kind}" for kind in words.hardware_types for region in words.regions]
    parts = p.pooled(p.kappa), p.pooled(plan.capacity[0]), p.pooled(plan.growth[0]), plan.spare[0]
    values = np.stack([part.ravel() for part in parts], 1)
    deficit = plan.deficit[0].ravel()
    notes = [f"lacks {d:,.1f}" if d > 1e-6 else "" for d in deficit]
    series = ["in use now", "planned use", "growth", "spare"]
    title = "Hardware of each pool in units of its type, first step"
    return bars_svg(title, rows, series, values, notes=notes, stacked=[[0], [1, 2, 3]])


def _residuals(planned: Planned) -> str:
    words, models = planned.words, planned.models
    shown = largest_first(models.capacity, SERVICES_MAX)
    shown = shown[models.capacity[shown] > 0]
    share = planned.problem.rho[0, shown] / models.capacity[shown][:, None]
    return heatmap_svg(
        "Residuals of the baseline",
        f"capacity that the model does not explain, as a share of the service; the largest {len(shown)} services",
        [str(name) for name in words.services[shown]],
        [str(name) for name in words.regions],
        share,
    )


def _models(planned: Planned) -> str:
    words, models = planned.words, planned.models
    shown = largest_first(models.capacity, SERVICES_MAX)
    shown = shown[models.capacity[shown] > 0]
    untraced = ["NoSpans" in models.reasons[s] for s in shown]
    values = np.stack([models.error[shown], np.where(untraced, np.nan, models.sampling[shown])], 1)
    notes = [f"{models.metric[s]}; {', '.join(models.reasons[s]) or 'high confidence'}" for s in shown]
    names = [str(name) for name in words.services[shown]]
    series = ["model error", "sampling error of the attribution"]
    return bars_svg("Quality of the models, largest services first", names, series, values, notes=notes, percent=True)
