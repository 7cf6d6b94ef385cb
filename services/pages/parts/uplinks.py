"""Draw what a rack sends over its uplink."""

from __future__ import annotations

from markupsafe import Markup

from services.pages.parts.pictures import Part, legend, share_svg

_WIDTH = 150.0
"""Width of a picture in a row, in pixels."""
_PARTS = (("f3", "below the limit"), ("f5", "above it"), ("f0", "to spare"))


def uplink_bar(sent_gbit: float, limit_gbit: float) -> Markup:
    """Return a bar: the Gbit/s below the limit, those above it, and those to spare."""
    values = (min(sent_gbit, limit_gbit), max(0.0, sent_gbit - limit_gbit), max(0.0, limit_gbit - sent_gbit))
    parts = [Part(words, colour, value) for (colour, words), value in zip(_PARTS, values, strict=True)]
    return share_svg(parts, width=_WIDTH)


def uplink_legend() -> Markup:
    """Return the legend of the bars."""
    return legend(_PARTS)
