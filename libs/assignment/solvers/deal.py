"""Name the ways to distribute objects and containers to parts."""

from __future__ import annotations

from enum import StrEnum


class Deal(StrEnum):
    """The way to distribute containers, and the objects of split containers, to parts."""

    RANDOM = "RANDOM"
    """Shuffle them, and give equal numbers to each part."""
    POWER_OF_TWO = "POWER_OF_TWO"
    """In random order, give each to the less loaded of two random parts."""
    BY_ATTRIBUTE = "BY_ATTRIBUTE"
    """Spread each kind evenly over all parts, the heaviest first. Each part then resembles the whole."""
