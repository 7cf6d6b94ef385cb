"""Random numbers drawn from a small table of quantiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from libs.domain.arrays import Floats


class QuantileTable:
    """A distribution given by equally spaced quantiles, which include the smallest and the largest value."""

    def __init__(self, quantiles: Sequence[float]) -> None:
        self._values = np.asarray(quantiles, float)

    @property
    def mean(self) -> float:
        """Return the mean of the values that draw() returns. It can differ from the mean of the data behind the
        quantiles.
        """
        return float((self._values[1:] + self._values[:-1]).mean() / 2)

    def draw(self, random: np.random.Generator, count: int) -> Floats:
        """Return (count,) random values, interpolated linearly between quantiles."""
        values: Floats = np.interp(random.random(count), np.linspace(0, 1, len(self._values)), self._values)
        return values
