"""Random numbers from a small table of quantiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from libs.domain.fleet import Floats


class QuantileTable:
    """A distribution known by equally spaced quantiles, the smallest and largest value included."""

    def __init__(self, quantiles: Sequence[float]) -> None:
        self._values = np.asarray(quantiles, float)

    @property
    def mean(self) -> float:
        """The mean of what draw() gives: of the straight lines between quantiles, not of the data behind them."""
        return float((self._values[1:] + self._values[:-1]).mean() / 2)

    def draw(self, random: np.random.Generator, count: int) -> Floats:
        """(count,) values, linear between quantiles."""
        values: Floats = np.interp(random.random(count), np.linspace(0, 1, len(self._values)), self._values)
        return values
