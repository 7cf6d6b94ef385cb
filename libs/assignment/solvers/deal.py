"""The ways to share out objects and containers to parts."""

from __future__ import annotations

from enum import StrEnum


class Deal(StrEnum):
    """How containers, and objects of containers that are split, come to their part."""

    RANDOM = "RANDOM"
    """Shuffled, then as many to each part."""
    POWER_OF_TWO = "POWER_OF_TWO"
    """In random order, each to the less loaded of two parts that are drawn."""
    BY_ATTRIBUTE = "BY_ATTRIBUTE"
    """Those of one kind spread evenly over all parts, the heaviest first: each part is the whole made small."""
