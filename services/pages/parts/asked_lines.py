"""The lines of what was asked for and of what was granted of it, in pictures of the past. See docs/designs/0064."""

from __future__ import annotations

from collections.abc import Sequence

from services.pages.api import Json
from services.pages.parts.pictures import Series

_ROUNDING = 1e-9


def asked_lines(rows: Sequence[Json]) -> tuple[list[Series], list[tuple[str, str]]]:
    """Return the lines over `rows`, which have what was asked for and granted at each time, and their legend.

    The granted RRU have a line of their own if they were ever less, because a request waited. The line has a gap where
    an earlier version did not keep them.
    """
    asked, granted = ([one[name] for one in rows] for name in ("capacity_rru", "granted_rru"))
    of = [pair for pair in zip(asked, granted, strict=True) if pair[0] is not None]
    line = Series("asked for", "l6", asked, dashed=True)
    if any(b is not None and b < a * (1 - _ROUNDING) for a, b in of):
        return [line, Series("granted of it", "l3", granted, dashed=True)], [("f6", line.name), ("f3", "granted of it")]
    return [line], [("f6", line.name if any(b is None for _, b in of) else "asked for and granted")]
