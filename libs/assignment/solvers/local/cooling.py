"""How a temperature falls: slowly where there is most to lose.

A first, quick annealing measures the spread of the objective at each temperature. The second spends its time in
proportion to the thermodynamic length, spread / temperature per logarithm of temperature: where the objective varies
much for its temperature, the assignment is being decided. Source: P. Salamon, J. D. Nulton, J. R. Harland, J. Pedersen,
G. Ruppeiner, L. Liao, Simulated annealing with constant thermodynamic speed (1988).
"""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Floats

LEVEL = 1e-6
"""A fall of the logarithm of temperature by less is none: what is left of one temperature by rounding."""
EVEN = 0.2
"""Of the time: spent evenly over the logarithm of temperature, whatever was measured."""


class Schedule:
    """From progress (0 to 1) to a temperature."""

    def __init__(self, hot: float, cold: float) -> None:
        self.logs: Floats = np.log([hot, cold])
        self.progress: Floats = np.array([0.0, 1.0])

    def temperature(self, progress: float) -> float:
        """At some progress."""
        return float(np.exp(np.interp(progress, self.progress, self.logs)))

    def adapt(self, temperatures: Floats, spreads: Floats) -> None:
        """Take times from what a quick annealing measured: (K,) temperatures, falling, and (K,) spreads there."""
        steps = -np.diff(np.log(temperatures))
        length = (spreads / temperatures)[1:] * steps
        if steps.sum() < LEVEL or not length.sum() > 0:
            return
        share = EVEN * steps / steps.sum() + (1 - EVEN) * length / length.sum()
        self.logs, self.progress = np.log(temperatures), np.concatenate([[0.0], np.cumsum(share)])
