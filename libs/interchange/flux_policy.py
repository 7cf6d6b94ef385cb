"""policy.json of a world."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from pathlib import Path

from libs.domain.world import FluxPolicy
from libs.interchange.bounds import read_json
from libs.interchange.errors import InterchangeError, Problem, Problems
from libs.interchange.tables import open_file

FILE = "policy.json"


def load_flux_policy(folder: Path, problems: Problems) -> FluxPolicy:
    """Read a policy; keys that are absent take their defaults."""
    with open_file(folder, FILE) as stream:
        try:
            found = json.loads(read_json(stream, FILE))
        except ValueError as error:
            raise InterchangeError([Problem(FILE, None, None, f"is not JSON: {error}")]) from error
    if not isinstance(found, dict):
        raise InterchangeError([Problem(FILE, None, None, "is not an object of costs")])
    known = {field.name for field in fields(FluxPolicy)}
    values: dict[str, float] = {}
    for key, value in found.items():
        if key not in known:
            problems.add(FILE, f"is not known; known are {', '.join(sorted(known))}", field=key)
        elif isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
            problems.add(FILE, f"{value!r} is not a finite number of at least 0", field=key)
        else:
            values[key] = float(value)
    return FluxPolicy(**values)
