"""Suggest a known name in place of an unknown one."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

_COMPARED_MAX = 200
"""Most letters of an unknown name that are compared: a file may hold names of any length."""


def hint(name: str, known: Collection[str]) -> str:
    """Return "did you mean ...?" with the nearest known name, or the known names if none is near."""
    near = get_close_matches(name[:_COMPARED_MAX], [*known], n=1)
    return f"did you mean {near[0]}?" if near else f"known are {', '.join(known) or 'none'}"
