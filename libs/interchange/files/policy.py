"""Read and write policy.json of a region or a world: an object of costs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any, TypeVar

from libs.domain.policy import COST_MAX, RegionPolicy
from libs.domain.world import FluxPolicy
from libs.interchange.files.bounds import parse_json, read_json
from libs.interchange.files.errors import InterchangeError, Problem, Problems
from libs.interchange.files.tables import Source, open_file

FILE = "policy.json"
AS_THE_FORMAT = RegionPolicy(
    surplus_cost=0.0, daily_churn_share=1.0, solve_churn_share=1.0, reservation_churn_share=1.0
)
"""The policy of a region folder that names no cost. Programs that judge this format, and older bundles, know no price
of a surplus and no churn budget.
"""
_Policy = TypeVar("_Policy", RegionPolicy, FluxPolicy)


def load_policy(source: Source, problems: Problems, absent: RegionPolicy = AS_THE_FORMAT) -> RegionPolicy:
    """Return a region's policy; absent keys take the values of `absent`."""
    policy = _load(source, problems, absent)
    for field in fields(policy):
        bounds, value = field.metadata["bounds"], getattr(policy, field.name)
        if value > bounds.get("le", math.inf) or value >= bounds.get("lt", math.inf):
            problems.add(FILE, _above(bounds), field=field.name)
    return policy


def _above(bounds: Mapping[str, float]) -> str:
    """Return what is wrong with a field above its bounds: those of a share, a cost or a time."""
    if "lt" in bounds:
        return f"is a share and must be below {bounds['lt']:g}"
    if bounds["le"] == 1:
        return "is a share and must be at most 1"
    if bounds["le"] == COST_MAX:
        return f"is a cost and must be at most {COST_MAX:g}"
    return f"is a time and must be at most {bounds['le']:.0f} seconds"


def load_flux_policy(source: Source, problems: Problems) -> FluxPolicy:
    """Return a world's policy; absent keys take their defaults."""
    policy = _load(source, problems, FluxPolicy())
    if not 0 < policy.utilisation_max <= 1:
        problems.add(FILE, "is a share and must be above 0 and at most 1", field="utilisation_max")
    return policy


def dump_policy(policy: RegionPolicy) -> bytes:
    """Return the content of policy.json."""
    return (json.dumps(asdict(policy), indent=2) + "\n").encode()


def _load(source: Source, problems: Problems, absent: _Policy) -> _Policy:
    with open_file(source, FILE) as stream:
        try:
            found = parse_json(read_json(stream, FILE))
        except ValueError as error:
            raise InterchangeError([Problem(FILE, None, None, f"is not JSON: {error}")]) from error
    if not isinstance(found, dict):
        raise InterchangeError([Problem(FILE, None, None, "is not an object of costs")])
    known = {field.name: getattr(absent, field.name) for field in fields(absent)}
    values: dict[str, Any] = {}
    for key, value in found.items():
        if key not in known:
            problems.add(FILE, f"is not known; known are {', '.join(sorted(known))}", field=key)
        elif isinstance(known[key], bool):
            if not isinstance(value, bool):
                problems.add(FILE, "is neither true nor false", field=key)
            values[key] = value
        elif isinstance(value, bool) or not isinstance(value, int | float):
            problems.add(FILE, "is not a number", field=key)
        elif not math.isfinite(value) or value < 0:
            problems.add(FILE, f"{value} is not a finite number of at least 0", field=key)
        else:
            values[key] = float(value)
    return replace(absent, **values)
