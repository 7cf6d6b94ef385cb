"""policy.json of a region."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, fields
from typing import Any

from libs.domain.policy import RegionPolicy
from libs.interchange.bounds import read_json
from libs.interchange.errors import InterchangeError, Problem, Problems
from libs.interchange.tables import Source, open_file

FILE = "policy.json"


def load_policy(source: Source, problems: Problems) -> RegionPolicy:
    """Read a policy; keys that are absent take their defaults."""
    with open_file(source, FILE) as stream:
        try:
            found = json.loads(read_json(stream, FILE))
        except ValueError as error:
            raise InterchangeError([Problem(FILE, None, None, f"is not JSON: {error}")]) from error
    if not isinstance(found, dict):
        raise InterchangeError([Problem(FILE, None, None, "is not an object of costs")])
    known = {field.name for field in fields(RegionPolicy)}
    values: dict[str, Any] = {}
    for key, value in found.items():
        if key not in known:
            problems.add(FILE, f"is not known; known are {', '.join(sorted(known))}", field=key)
        elif key == "fix_first":
            if not isinstance(value, bool):
                problems.add(FILE, "is neither true nor false", field=key)
            values[key] = value
        elif isinstance(value, bool) or not isinstance(value, int | float):
            problems.add(FILE, "is not a number", field=key)
        elif not math.isfinite(value) or value < 0:
            problems.add(FILE, f"{value} is not a finite number of at least 0", field=key)
        elif key == "shared_buffer_share" and value >= 1:
            problems.add(FILE, "is a share and must be below 1", field=key)
        else:
            values[key] = float(value)
    return RegionPolicy(**values)


def dump_policy(policy: RegionPolicy) -> bytes:
    """The policy as the file holds it."""
    return (json.dumps(asdict(policy), indent=2) + "\n").encode()
