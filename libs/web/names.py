"""Answers to unknown names, with the nearest known ones."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from libs.web.problems import FieldError

_SHOWN = 10


def unknown_name(field: str, noun: str, name: str, known: Collection[str], *, location: str = "body") -> FieldError:
    """Return the error of a field with an unknown name. It suggests near names; without any, it lists known ones."""
    near = get_close_matches(name, known, n=3, cutoff=0.6)
    listed = near or sorted(known)[:_SHOWN]
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    elif listed:
        rest = len(known) - len(listed)
        hint = f"known: {', '.join(listed)}" + (f" and {rest} more" if rest else "")
    else:
        hint = f"there is no {noun} yet"
    return FieldError(
        field=field, location=location, code="unknown_name", message=f"no {noun} is called {name}: {hint}", known=listed
    )
