"""Answers to unknown names, with the nearest known ones."""

from __future__ import annotations

import string
from bisect import bisect_left
from collections.abc import Collection
from difflib import get_close_matches

from libs.domain.reservation import Reservation
from libs.domain.words import moment
from libs.web.problems import FieldError

_SHOWN = 10
COMPARED_MAX = 1000
"""Most names that an unknown one is compared with, beside those one slip away. 3,000 racks took 0.1 s, and a request
may name 100 wrong ones.
"""
LENGTH_MAX = 100
_USUAL = string.ascii_letters + string.digits + "-_.:/"
"""The characters that a slip may put into a name."""


def unknown_name(
    field: str, noun: str, name: str, known: Collection[str], *, location: str = "body", total: int | None = None
) -> FieldError:
    """Return the error of a field with an unknown name. It suggests near names; without any, it lists known ones.

    total   the number of all known names, if `known` has only those that may be near
    """
    ordered = sorted(known)
    # Of many, those with the longest common beginnings: they are neighbours in this order.
    first = max(0, min(bisect_left(ordered, name) - COMPARED_MAX // 2, len(ordered) - COMPARED_MAX))
    compared = ordered[first : first + COMPARED_MAX]
    if len(compared) < len(ordered):  # a slip at the beginning makes it a neighbour of others
        compared = sorted({*compared, *_one_slip_away(name, ordered)})
    near = get_close_matches(name, compared, n=3, cutoff=0.6)
    listed = near or ordered[:_SHOWN]
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    elif listed:
        rest = (len(known) if total is None else total) - len(listed)
        hint = f"known: {', '.join(listed)}" + (f" and {rest} more" if rest else "")
    else:
        hint = f"there is no {noun} yet"
    return FieldError(
        field=field, location=location, code="unknown_name", message=f"no {noun} is called {name}: {hint}", known=listed
    )


def not_begun(field: str, found: Reservation, then: str, *, location: str = "body") -> FieldError:
    """Return the error of a field with a reservation that has not begun. `then` ends the sentence: what to do."""
    begins = "" if found.spec.starts_at is None else f", and begins at {moment(found.spec.starts_at)}"
    message = f"{found.name} has not begun{begins}: {then}"
    return FieldError(field=field, location=location, code="not_begun", message=message)


def _one_slip_away(name: str, known: Collection[str]) -> set[str]:
    """Return the known names that differ by a wrong, missing or needless character, or by two that changed places.

    It looks up all such names, so its time hardly grows with the number of known ones.
    """
    names = set(known)
    if len(name) > max(map(len, names)) + 1:
        return set()
    return names & slips(name, set("".join(names)))


def slips(name: str, characters: Collection[str] = _USUAL) -> set[str]:
    """Return the names that differ from `name` by a wrong, missing or needless character, or by two that changed
    places. A name longer than LENGTH_MAX has none.
    """
    found: set[str] = set()
    for k in range(len(name) + 1 if len(name) <= LENGTH_MAX else 0):
        head, tail = name[:k], name[k:]
        found |= {head + one + rest for one in characters for rest in (tail, tail[1:])}
        found |= {head + tail[1:], head + tail[1:2] + tail[:1] + tail[2:]}
    return found
