"""Errors in the statement of a problem. Each error names the spec, the field and the wrong values."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

VALUES_SHOWN_MAX = 5


class ModelError(ValueError):
    """The stated problem is impossible to solve or contradictory. The message names the place and the next step."""


class UnknownName(ModelError):
    """A scope, dimension, partition, spec or field that does not exist."""

    def __init__(self, where: str, noun: str, given: str, known: Iterable[str]) -> None:
        names = sorted(known)
        folded = {name.casefold(): name for name in names}
        near = difflib.get_close_matches(given, names, n=1, cutoff=0.5)
        near = near or [folded[one] for one in difflib.get_close_matches(given.casefold(), folded, n=1, cutoff=0.5)]
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names) or 'none'}"
        super().__init__(f"{where}: no {noun} named {given!r}; {hint}")


class BadValues(ModelError):
    """Numbers that are missing, not finite, negative, out of range or of the wrong shape."""


class Contradiction(ModelError):
    """Hard constraints that no assignment can meet together."""


class NotLowerable(ModelError):
    """The problem cannot be stated as a mixed-integer program; local search can still solve it."""


class TimeUp(Exception):
    """The clock of a solve ran out while its model was being built."""


def shown(values: Iterable[object]) -> str:
    """Return the first few values as text for a message."""
    listed = list(values)
    rest = len(listed) - VALUES_SHOWN_MAX
    return ", ".join(map(str, listed[:VALUES_SHOWN_MAX])) + (f" and {rest} more" if rest > 0 else "")
