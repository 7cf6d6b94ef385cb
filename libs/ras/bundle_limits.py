"""Read the limits of a solve from a replay bundle, which keeps them as numbers by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from libs.assignment import Limits

LEAST_S = 1e-3
"""Seconds that replace a limit of 0. The answer is then the present targets."""
RENAMED = {"exact_nodes_max": "nodes_max", "exact_gap": "relative_gap"}
"""Name in older bundles -> field of Limits."""
NEAR_GAP = 0.0075
"""Gap that is good enough if little has changed since the last solve. Neighbourhoods would gain 0.1 to 0.2 %."""
WHOLE = frozenset({"neighbourhoods_max", "stall", "exact_columns_max", "nodes_max"})


def limits_from(values: Mapping[str, float]) -> Limits:
    """Return the limits of a bundle of this or an older version.

    Unknown names in `values` are ignored. Limits whose name is absent have their default.

    Raises: BadValues for a value out of range.
    """
    known = {field.name for field in fields(Limits)} - {"time_s_max"}
    named = {RENAMED.get(name, name): value for name, value in values.items()}
    chosen: dict[str, Any] = {k: int(v) if k in WHOLE else v for k, v in named.items() if k in known}
    return with_time(Limits(**chosen), named.get("time_s_max"))


def for_region(limits: Limits) -> Limits:
    """Return the limits `limits` with NEAR_GAP, unless the caller asks for a gap."""
    asks = limits.near_gap is not None or limits.relative_gap is not None
    return limits if asks else replace(limits, near_gap=NEAR_GAP)


def with_time(limits: Limits, time_s_max: float | None) -> Limits:
    """Return `limits` with the time limit `time_s_max` in seconds. 0 is allowed; None means no time limit."""
    return replace(limits, time_s_max=None if time_s_max is None else max(time_s_max, LEAST_S))
