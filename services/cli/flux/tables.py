"""Print models and plans of `plimsoll flux`: tables for people, documents for programs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from libs.flux.planning import Planned
from libs.flux.report.summary import models_document, unplaced_growth
from libs.flux.report.traffic_growth import traffic_growth_document
from services.cli.flux.offline import Modelled
from services.cli.output import percent, print_rows, stdout

SHOWN_MAX = 10


def model_document(made: Modelled) -> dict[str, Any]:
    """Return the quality of the models, for programs."""
    return {
        **models_document(made.words, made.models),
        **made.counts,
        "step_s": made.step_s,
    }


def print_models(made: Modelled) -> None:
    """Print the largest services, and every service of low confidence."""
    words, models = made.words, made.models
    known = np.flatnonzero(models.modelled)
    largest = known[np.argsort(-models.capacity[known])][:SHOWN_MAX]
    low = [s for s in known if models.reasons[s]]
    stdout.print(f"{len(known)} services; the largest {len(largest)}:", highlight=False)
    rows = [
        {
            "SERVICE": words.services[s],
            "TYPE": words.hardware_types[words.service_type[s]],
            "CAPACITY": float(models.capacity[s]),
            "METRIC": models.metric[s],
            "ERROR": percent(models.error[s]),
            "PRODUCTS": ", ".join(
                f"{words.products[p]} {models.attribution[s, p]:.0%}" for p in np.argsort(-models.attribution[s])[:3]
            ),
        }
        for s in largest
    ]
    print_rows(rows, {heading: heading for heading in rows[0]} if rows else {})
    for s in low[:SHOWN_MAX]:
        stdout.print(f"low confidence: {words.services[s]} ({', '.join(models.reasons[s])})", highlight=False)
    if len(low) > SHOWN_MAX:
        stdout.print(f"low confidence: {len(low) - SHOWN_MAX} more", highlight=False)
    stdout.print(", ".join(f"{count:,} {name}" for name, count in made.counts.items()), highlight=False)


def print_plan(planned: Planned) -> None:
    """Print per step the changes and the deficit, and the actions of the first step."""
    words, plan, problem = planned.words, planned.solved.plan, planned.problem
    before, rows = problem.kappa, []
    moved = plan.moved(problem.xi)
    for t, step in enumerate(plan.step):
        added = np.maximum(plan.capacity[t] - before, 0.0).sum()
        freed = np.maximum(before - plan.capacity[t], 0.0).sum()
        rows.append(
            {
                "STEP": int(step),
                "TRAFFIC MOVED": percent(float(moved[t])),
                "UPSIZED": float(added),
                "FREED": float(freed),
                "GROWTH": float(plan.growth[t].sum()),
                "SPARE": float(plan.spare[t].sum()),
                "DEFICIT": float(plan.deficit[t].sum()) if plan.deficit[t].sum() > 1e-6 else 0.0,
            }
        )
        before = plan.capacity[t]
    print_rows(rows, {heading: heading for heading in rows[0]})
    for h, r in zip(*np.nonzero(plan.deficit[0] > 1e-6), strict=True):
        stdout.print(
            f"short in step {plan.step[0]}: {words.regions[r]} lacks {plan.deficit[0, h, r]:,.2f} of "
            f"{words.hardware_types[h]}",
            highlight=False,
        )
    execution = planned.execution
    counts = Counter(str(a.phase) for a in execution.actions if a.service or a.product)
    stdout.print(
        f"step {execution.step}: "
        + ", ".join(f"{n} {phase}s" for phase, n in counts.items())
        + f"; {sum(bool(a.approval) for a in execution.actions)} to approve; "
        + f"about {execution.estimate_h / 24:,.1f} days by the policy's estimates",
        highlight=False,
    )
    for one in traffic_growth_document(planned)[:SHOWN_MAX]:
        stdout.print(one["message"], highlight=False, markup=False)
    if unplaced_growth(planned):
        names = ", ".join(unplaced_growth(planned)[:SHOWN_MAX])
        stdout.print(f"growth not placed, because no usage was measured: {names}", highlight=False)
    if not planned.solved.settled:
        stdout.print(
            "growth, or capacity for the loss of a region, did not converge: this is the last program's answer",
            highlight=False,
        )
