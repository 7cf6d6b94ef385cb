"""Schedule the fall of a temperature: slowest at the temperatures that decide most.

A first, quick annealing measures the spread of the objective at each temperature. The second spends its time in
proportion to the thermodynamic length, spread / temperature per logarithm of temperature. A large spread for the
temperature shows that the assignment is decided there. Source: P. Salamon, J. D. Nulton, J. R. Harland, J. Pedersen, G.
Ruppeiner, L. Liao, Simulated annealing with constant thermodynamic speed (1988).
"""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Floats

LEVEL = 1e-6
"""A smaller fall of the logarithm of temperature is a rounding residue of one temperature."""
EVEN = 0.2
"""Share of the time that is spread evenly over the logarithm of temperature, regardless of the measurement."""


class Schedule:
    """A map from progress (0 to 1) to a temperature."""

    def __init__(self, hot: float, cold: float) -> None:
        self.logs: Floats = np.log([hot, cold])
        self.progress: Floats = np.array([0.0, 1.0])

    def temperature(self, progress: float) -> float:
        """Return the temperature at a progress."""
        return float(np.exp(np.interp(progress, self.progress, self.logs)))

    def adapt(self, temperatures: Floats, spreads: Floats) -> None:
        """Adapt to the measurement of a quick annealing: falling temperatures (K,) and their spreads (K,)."""
        steps = -np.diff(np.log(temperatures))
        length = (spreads / temperatures)[1:] * steps
        if steps.sum() < LEVEL or not length.sum() > 0:
            return
        share = EVEN * steps / steps.sum() + (1 - EVEN) * length / length.sum()
        self.logs, self.progress = np.log(temperatures), np.concatenate([[0.0], np.cumsum(share)])
