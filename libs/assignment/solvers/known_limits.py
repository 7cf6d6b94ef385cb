"""List the limits and options that each solver knows, and turn limits into its settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from libs.assignment.language.errors import BadValues, UnknownName
from libs.assignment.solvers.limits import Limits
from libs.assignment.solvers.settings import MipLimits, Partitioning, PortfolioLimits, SearchLimits

TIME = ("time_s_max",)
SEARCH = (*TIME, "tries_max", "threads", "first_improving")
MIP = (*TIME, "nodes_max", "relative_gap")
PORTFOLIO = (*MIP, "neighbourhoods_max", "stall", "stall_gain", "near_gap", "exact_columns_max", "whole_bound")
PARTS = ("parts", "deal", "split", "together", "workers", "polish", "insist")

KNOWN: Mapping[str, tuple[str, ...]] = {
    "local": SEARCH,
    "price": SEARCH,
    "mip": MIP,
    "portfolio": PORTFOLIO,
    "partitioned": (*SEARCH, *PARTS),
}
"""The fields of Limits that each solver knows. `auto` knows all of them."""
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "local": ("proposer",),
    "price": ("settings", "prices"),
    "portfolio": ("pool",),
    "partitioned": ("part_solver", "executor"),
}
"""Further keyword arguments of each solver."""
METHODS: Mapping[str, str] = {"proposer": "__call__", "pool": "submit", "executor": "submit"}
"""The method that the object of an option must have."""
BEGIN_AT_START = frozenset({"local", "mip", "portfolio"})
"""Solvers that can search from a start."""
RENAMED = {"nodes_max": "exact_nodes_max", "relative_gap": "exact_gap"}
"""Field of Limits -> setting of the portfolio."""
NODES_ENDLESS = 2**31 - 1
"""Largest number of nodes that HiGHS accepts."""


def known_limits(solver: str) -> tuple[str, ...]:
    """Return the fields of Limits that a solver knows."""
    if solver == "auto":
        return tuple(dict.fromkeys(name for fields in KNOWN.values() for name in fields))
    return KNOWN[solver]


def refuse_unknown(solver: str, limits: Limits, options: Mapping[str, Any]) -> None:
    """Refuse limits and options that a solver does not know.

    Raises: BadValues with the field, its value, the solver and the fields that it knows; UnknownName for an option.
    """
    known = known_limits(solver)
    for name, value in limits.given().items():
        if name not in known:
            fields = ", ".join(known)
            raise BadValues(f"limits: {name} = {value!r}: solver {solver!r} has no such limit; it has {fields}")
    for name, value in options.items():
        if name not in OPTIONS.get(solver, ()):
            raise UnknownName("solve", f"option of solver {solver!r}", name, OPTIONS.get(solver, ()))
        method = METHODS.get(name, "__class__")
        if value is not None and not hasattr(value, method):
            raise BadValues(f"solve: {name} = {value!r}; expected an object with {method}")


def settings_of(solver: str, limits: Limits) -> dict[str, Any]:
    """Return the settings of a solver, by keyword argument. Unknown fields are left out."""
    given = {name: value for name, value in limits.given().items() if name in KNOWN[solver]}
    if given.get("nodes_max", 0) > NODES_ENDLESS:
        given["nodes_max"] = math.inf
    if solver == "mip":
        return {"limits": MipLimits(**_finite(given))}
    if solver == "portfolio":
        if given.get("nodes_max") == math.inf:
            given["nodes_max"] = NODES_ENDLESS
        return {"limits": PortfolioLimits(**{RENAMED.get(name, name): value for name, value in given.items()})}
    cut = {name: given.pop(name) for name in PARTS if name in given}
    settings: dict[str, Any] = {"limits": SearchLimits(**_finite(given))}
    if solver == "partitioned":
        cut |= {"how": cut.pop("deal")} if "deal" in cut else {}
        settings["options"] = Partitioning(**cut)
    return settings


def _finite(given: dict[str, Any]) -> dict[str, Any]:
    """Return the limits with unlimited work as None, as the settings have it."""
    endless = {name: None for name in ("tries_max", "nodes_max") if given.get(name) == math.inf}
    return given | endless
