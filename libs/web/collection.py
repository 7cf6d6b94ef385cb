"""Python's search for cycles of garbage, in a process that reads documents of a hundred thousand objects."""

from __future__ import annotations

import gc

THRESHOLD = 50_000
"""Objects made before the young ones are searched; Python's own 700 searches ninety times in one large document."""


def settle_collection() -> None:
    """Once everything is loaded: leave it out of every search, and search less often.

    Reading spans as JSON took 14 us each, 10 of them for searching what never was garbage.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(THRESHOLD, 10, 10)
