"""Explain why no plan respects all limits: name the limits that must be relaxed, and by how much."""

from __future__ import annotations

import numpy as np

from libs.domain.world import PlanningInputs, Vocabulary
from libs.flux.program.joint_model import JointModel
from libs.flux.program.problem import JointProblem
from libs.mip.relaxation import least_relaxation

SHOWN_MAX = 5
NOISE = 1e-6


def conflict_of(words: Vocabulary, inputs: PlanningInputs, p: JointProblem, joint: JointModel) -> str:
    """Return one sentence for each limit that must be relaxed. The relaxation of presence and capacity limits is the
    least that allows a plan.
    """
    v, rows = joint.columns, joint.rows
    gives = least_relaxation(joint.model, np.concatenate([v.x.ravel(), v.c.ravel()]), rows.limits)
    if gives is None:
        return (
            "No plan is possible, even without the limits of presence and capacity: the inputs contradict each other."
        )
    traffic, chosen = gives[0][: v.x.size].reshape(v.x.shape), gives[0][v.x.size :].reshape(v.c.shape)
    capacity = np.zeros((len(v.x), len(p.service), v.x.shape[2]))
    capacity[:, v.chosen] = chosen
    capacity.ravel()[rows.limit_cells] = gives[1]
    said = []
    for t, q, r in zip(*np.nonzero(np.abs(traffic) > NOISE), strict=True):
        amount = traffic[t, q, r]
        bound = "more than its share_max" if amount > 0 else "less than its share_min"
        said.append(
            f"{words.products[q]} would need {abs(amount):.2%} of today's traffic {bound} in {words.regions[r]}, "
            f"step {inputs.step[t]}"
        )
    for t, k, r in zip(*np.nonzero(np.abs(capacity) > NOISE), strict=True):
        amount = capacity[t, k, r]
        bound = "more than its capacity_max" if amount > 0 else "less than its capacity_min"
        reason = inputs.controls.reason[k, r]
        said.append(
            f"{words.services[words.placement_service[k]]} would need {abs(amount):,.4g} {bound} of "
            f"{words.hardware_types[words.placement_type[k]]} in {words.regions[r]}, step {inputs.step[t]}"
            + (f" (set for: {reason})" if reason else "")
        )
    if not said:
        return (
            "No plan was found, although no limit would have to give: look for an amount of the inputs in another unit."
        )
    more = [f"and {len(said) - SHOWN_MAX} more"] if len(said) > SHOWN_MAX else []
    return "No plan respects all limits at once. The least that would have to give:\n  " + "\n  ".join(
        said[:SHOWN_MAX] + more
    )
