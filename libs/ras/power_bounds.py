"""Keep the changes of a plan within the power of domains. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools
from libs.domain.plan_changes import NONE, PlanChanges
from libs.domain.power_bounds import PowerBounds
from libs.ras.committable_changes import Why


@dataclass(frozen=True, slots=True, eq=False)
class PowerBound:
    """No limit on power is exceeded, or further exceeded (docs/designs/0055)."""

    bounds: PowerBounds

    @property
    def why(self) -> Why:
        """Return the reason of a change that would bring too much power."""
        return Why.POWER

    def barred(self, changes: PlanChanges, kept: Bools) -> Bools:
        """Return the kept changes (N,) to bar, the last ones first, so that no limit is exceeded."""
        found = np.zeros(len(changes), bool)
        beyond = self.bounds.beyond(kept)
        if not beyond.any():
            return found
        above = self.bounds.added_w(kept) - np.maximum(self.bounds.room_w, 0.0)
        for n in np.flatnonzero(kept & (self.bounds.gain_w > 0))[::-1]:
            below = self.bounds.limit[n]
            below = below[below != NONE]
            if (beyond[below] & (above[below] > 0)).any():
                found[n] = True
                above[below] -= self.bounds.gain_w[n]
        return found
