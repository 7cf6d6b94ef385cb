"""Keep the changes of a plan within the quotas of owners. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools, Floats
from libs.domain.plan_changes import NONE, PlanChanges
from libs.domain.quota import QuotaBounds
from libs.domain.reservation import ROUNDING
from libs.ras.committable_changes import Why


@dataclass(frozen=True, slots=True, eq=False)
class QuotaBound:
    """No owner's cost units pass the owner's limit. An owner that is above its limit already does not rise.

    A reservation counts the most that it may come to hold, or what targets it after the plan if that is more.
    """

    bounds: QuotaBounds

    @property
    def why(self) -> Why:
        """Return the reason of a change that would bring too many cost units."""
        return Why.QUOTA

    def barred(self, changes: PlanChanges, kept: Bools) -> Bools:
        """Return the kept changes (N,) to bar, the last ones first, so that no owner passes its limit."""
        return _beyond(changes, self.bounds, kept)


def _beyond(changes: PlanChanges, bounds: QuotaBounds, kept: Bools) -> Bools:
    """Return the kept changes (N,) to bar, so that no owner passes its limit. The last changes come first."""
    found = np.zeros(len(changes), bool)
    after = bounds.targeted.copy()
    for of, sign in ((changes.to, 1.0), (changes.source, -1.0)):
        rows = kept & (of != NONE)
        np.add.at(after, of[rows], sign * bounds.units[rows])
    allowed = np.maximum(bounds.limit, _spent(bounds, bounds.targeted))
    excess = _spent(bounds, after) - allowed * (1.0 + ROUNDING)
    arriving = np.flatnonzero(kept & (changes.to != NONE) & (bounds.units > 0))
    for n in arriving[bounds.owner[changes.to[arriving]] != NONE][::-1]:
        q = changes.to[n]
        above, owner = after[q] - bounds.most[q], bounds.owner[q]
        if excess[owner] > 0 and above > 0:
            found[n] = True
            after[q] -= bounds.units[n]
            excess[owner] -= min(above, bounds.units[n])
    return found


def _spent(bounds: QuotaBounds, targeted: Floats) -> Floats:
    """Return the (O,) cost units of each owner, if `targeted` (Q,) target its touched reservations."""
    spent = bounds.elsewhere.copy()
    limited = bounds.owner != NONE
    np.add.at(spent, bounds.owner[limited], np.maximum(bounds.most, targeted)[limited])
    return spent
