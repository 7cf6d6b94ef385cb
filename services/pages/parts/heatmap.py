"""Maps of places and hardware types. They are tables, so keyboards and screen readers can use them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

PLACES_MAX = 60
"""Largest number of MSBs that a map shows. With more, it shows their datacenters."""
SHADES = 6
"""Number of shades, besides none at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell.

    text    its figure; "" for a place without any
    shade   0 (none) to SHADES (all)
    tip     the sentence behind it
    href    the page behind it; "" if there is none
    mark    an extra sign, such as +2
    falls   whether it is a decrease, which has shades of another colour
    """

    text: str = ""
    shade: int = 0
    tip: str = ""
    href: str = ""
    mark: str = ""
    falls: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A place with its cells, and figures at the end of the row."""

    name: str
    group: str
    cells: Sequence[Cell]
    ends: Sequence[Cell] = ()
    worst: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """Places as rows, hardware types as columns, and figures of whole places in further columns.

    collapsed   whether the rows are datacenters, because there are too many MSBs
    corner      what the rows are, if they are no places of a region
    links       column -> the page behind it, for columns that have one
    """

    caption: str
    columns: Sequence[str]
    ends: Sequence[str]
    rows: Sequence[Row]
    totals: Sequence[Cell]
    collapsed: bool
    places: int
    corner: str = ""
    links: Mapping[str, str] = field(default_factory=dict)


def shade_of(value: float, whole: float) -> int:
    """Return the shade of a part of a whole. Any part above 0 has a shade."""
    if value <= 0 or whole <= 0:
        return 0
    return max(1, min(SHADES, round(SHADES * value / whole)))


def by_place(
    items: Sequence[Mapping[str, object]], add: Callable[[list[Mapping[str, object]]], Mapping[str, float]]
) -> tuple[dict[tuple[str, str], dict[str, Mapping[str, float]]], bool, int]:
    """Return (datacenter, place) -> hardware type -> summed figures, whether the places are datacenters, and the number
    of MSBs.
    """
    msbs = {(str(one["datacenter"]), str(one["msb"])) for one in items}
    collapsed = len(msbs) > PLACES_MAX
    parts: dict[tuple[str, str], dict[str, list[Mapping[str, object]]]] = {}
    for one in items:
        datacenter = str(one["datacenter"])
        place = (datacenter, datacenter if collapsed else str(one["msb"]))
        parts.setdefault(place, {}).setdefault(str(one["hardware_type"]), []).append(one)
    summed = {place: {kind: add(some) for kind, some in kinds.items()} for place, kinds in sorted(parts.items())}
    return summed, collapsed, len(msbs)
