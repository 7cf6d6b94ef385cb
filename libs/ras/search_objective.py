"""What a search minimises: the policy's sum, or what is broken first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from libs.assignment.language.specs.no_regression import NoRegressionSpec
from libs.assignment.model.lowered import Lowered
from libs.domain.policy import RegionPolicy
from libs.mip.model import Model
from libs.ras.statement import NO_REGRESSION, OBJECTIVE, PENALTY

FIX_FIRST = 100.0
"""How many times its cost a penalty weighs in a search that fixes first: more than any mending costs, in practice."""


def goal_model(lowered: Lowered, policy: RegionPolicy) -> Model:
    """What a search makes small: penalties outrank the objective where the policy says so. docs/adr/0004."""
    return _weighted(lowered, FIX_FIRST if policy.fix_first else 1.0, 1.0)


def plain_model(lowered: Lowered) -> Model:
    """The policy's own sum, which is what bounds and gaps are about; without limits to regression, as they are."""
    return _unlimited(lowered, _weighted(lowered, 1.0, 1.0))


def penalty_model(lowered: Lowered) -> Model:
    """What is broken, alone."""
    return _unlimited(lowered, _weighted(lowered, 1.0, 0.0))


def _weighted(lowered: Lowered, penalty: float, objective: float) -> Model:
    """Level 0 is constraints that are broken: the region's hold at the start, and so always."""
    by_priority = {PENALTY: penalty, OBJECTIVE: objective}
    return lowered.weighted((0.0, *(by_priority[priority] for priority in lowered.compiled.priorities)))


def _unlimited(lowered: Lowered, model: Model) -> Model:
    limits = NoRegressionSpec(name=NO_REGRESSION, specs=()).where  # rows that it shares with others are theirs too
    lower, upper = model.row_lower.copy(), model.row_upper.copy()
    for block in lowered.blocks:
        if block.name == limits:
            lower[block.first : block.last], upper[block.first : block.last] = -np.inf, np.inf
    return replace(model, row_lower=lower, row_upper=upper)
