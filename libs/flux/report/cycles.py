"""Pictures of the loop over its cycles: automation, completion, coverage and residuals (Flux, figures 8 to 11)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from libs.domain.arrays import Floats
from libs.pictures.lines import SERIES_MAX, lines_svg

SERVICES_MAX = SERIES_MAX - 1
"""Largest number of services in a picture. The total has a line too."""


def automation_svg(cycles: Sequence[str], total: Floats, services: Sequence[str], by_service: Floats) -> str:
    """Draw the share of actions without a person. total (C,), by_service (L, C); nan: nothing has finished."""
    shown = services[:SERVICES_MAX]
    values = np.vstack([total, by_service[: len(shown)].reshape(len(shown), len(total))])
    return lines_svg("Actions without a person, by execution", cycles, ["total", *shown], values, percent=True)


def completion_svg(cycles: Sequence[str], total_h: Floats, resize_h: Floats) -> str:
    """Draw hours from start to end. total_h (C,), resize_h (C, 5): quartiles of the resizes; nan: has not ended."""
    title = "Completion times in hours: executions, and their resizes"
    return lines_svg(title, cycles, ["whole execution"], total_h[None, :], unit=" h", boxes=resize_h)


def coverage_svg(cycles: Sequence[str], upsized: Floats, downsized: Floats, shifted: Floats) -> str:
    """Draw the executed amount as a share of the planned one, (C,) each; nan: nothing was planned."""
    values = np.vstack([upsized, downsized, shifted])
    return lines_svg("Executed share of the plan", cycles, ["upsizes", "downsizes", "shifts"], values, percent=True)


def residuals_svg(runs: Sequence[str], services: Sequence[str], residual: Floats) -> str:
    """Draw the residual of services as a share of their capacity, (L, C): sum_r |rho[s, r]| / sum_r kappa[s, r]."""
    shown = services[:SERIES_MAX]
    return lines_svg("Capacity that the models do not explain", runs, shown, residual[: len(shown)], percent=True)
