"""How long and how hard a solve may try."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from libs.assignment.solvers.settings import PortfolioLimits as SolveLimits

__all__ = ["SolveLimits", "limits_from"]


def limits_from(values: Mapping[str, float]) -> SolveLimits:
    """Limits by name, as a replay bundle keeps them; names of another version are ignored, absent ones default."""
    whole = {"neighbourhoods_max", "stall", "exact_columns_max", "exact_nodes_max"}
    known = {field.name for field in fields(SolveLimits)}
    chosen: dict[str, Any] = {k: int(v) if k in whole else v for k, v in values.items() if k in known}
    return SolveLimits(**chosen)
