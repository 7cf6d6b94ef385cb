"""Options that take something back: a list becomes empty, a limit is lifted, a time is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer

EMPTY: dict[str, Any] = {
    "affinity": {},
    "affinity-follows": None,
    "datacenters": [],
    "domain-limits": [],
    "ends-at": None,
    "msb-share-max": None,
    "msb-spread-limit": None,
    "rack-spread-limit": None,
    "resources": {},
    "starts-at": None,
    "survives-loss-of": [],
}
"""Name to clear -> the empty value of its field in a spec. The field has _ for -."""


def cleared(names: Sequence[str], given: Mapping[str, object]) -> dict[str, Any]:
    """Return the fields that a spec should have empty.

    names   of EMPTY
    given   the fields that other options fill in

    Raises BadParameter for an unknown name, and for a field that is given too.
    """
    found = {}
    for name in names:
        if name not in EMPTY:
            raise typer.BadParameter(
                f"{name!r} cannot be cleared: give one of {', '.join(EMPTY)}", param_hint="--clear"
            )
        field = name.replace("-", "_")
        if field in given:
            raise typer.BadParameter(
                f"{name} is given by another option: leave out one of the two", param_hint="--clear"
            )
        found[field] = EMPTY[name]
    return found
