"""Keep the changes of a plan within bounds on what arrives: quotas of owners, and power of domains. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from libs.domain.arrays import Bools, Floats
from libs.domain.plan_changes import PlanChanges
from libs.domain.policy import RegionPolicy
from libs.ras.committable_changes import Settled, Why, settle


class ArrivalBound(Protocol):
    """A bound that changes may break by what they bring, and never by what they take away."""

    @property
    def why(self) -> Why:
        """Return the reason of a change that the bound bars."""

    def barred(self, changes: PlanChanges, kept: Bools) -> Bools:
        """Return the kept changes (N,) to bar, so that the bound holds. The last changes come first."""


def settle_within(
    changes: PlanChanges, policy: RegionPolicy, planned: Floats, bounds: Sequence[ArrivalBound]
) -> Settled:
    """Decide which of the changes to commit, like `settle`, so that all `bounds` hold.

    Changes that would bring too much are barred, and the others are settled again, until every bound holds. It ends:
    without arrivals no bound is broken further than before.

    planned, result   as of `settle`; a barred change has the reason of its bound
    """
    why = np.full(len(changes), Why.NOT_DROPPED, np.int32)
    while True:
        barred = why != Why.NOT_DROPPED
        settled = settle(replace(changes, changed=changes.changed | barred), policy, planned)
        more = [(bound.why, bound.barred(changes, settled.kept)) for bound in bounds]
        if not any(found.any() for _, found in more):
            break
        for reason, found in more:
            why[found] = reason
    return Settled(
        kept=settled.kept,
        because=np.where(barred, changes.to, settled.because).astype(np.int32),
        why=np.where(barred, why, settled.why).astype(np.int32),
    )
