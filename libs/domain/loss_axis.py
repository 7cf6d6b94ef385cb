"""The domains that reservations can lose, side by side on one axis. Every rule of survival reads loads on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Bools, Floats, Indices
from libs.domain.domain_kind import DomainLoss


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossAxis:
    """P columns: the MSBs first, then the domains of each further kind that a reservation survives. A load (N, P) has
    the RRU of each server once for each of the L kinds.

    ends      the column after the last one of each kind; the first of them is the number of MSBs
    survives  (R, L) bool   whether a reservation is to survive the loss of any one domain of a kind
    """

    ends: tuple[int, ...]
    survives: Bools

    @property
    def msbs(self) -> int:
        """Return the number of MSBs."""
        return self.ends[0]

    @property
    def columns(self) -> int:
        """Return P."""
        return self.ends[-1]

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Return the first column of each kind, and the column after its last one."""
        return tuple(zip((0, *self.ends[:-1]), self.ends, strict=True))

    def total_rru(self, load: Floats) -> Floats:
        """Return the RRU (N,) of each row of a load (N, P)."""
        return np.asarray(load[:, : self.msbs].sum(1))

    def left_each(self, load: Floats, rows: NDArray[np.integer] | slice = slice(None)) -> Floats:
        """Return the RRU (L, N) that are left after the worst loss of each kind; all, where it need not be survived.

        load   (N, P) RRU
        rows   (N,) reservation of each row of the load; all reservations, one row each, if left out
        """
        survives, total = self.survives[rows], self.total_rru(load)
        worst = [np.where(survives[:, k], load[:, a:b].max(1, initial=0.0), 0.0) for k, (a, b) in enumerate(self.spans)]
        return np.asarray(total - np.array(worst))

    def left_rru(self, load: Floats, rows: NDArray[np.integer] | slice = slice(None)) -> Floats:
        """Return the RRU (N,) that are left after the worst loss that a reservation is to survive. See `left_each`."""
        return np.asarray(self.left_each(load, rows).min(0))

    def unmet_rru(self, load: Floats, capacity_rru: Floats) -> Floats:
        """Return the RRU (R,) that penalties count: what is missing after the loss of each kind, added over the kinds.

        It is the shortfall of a reservation that survives one kind of loss, or none (docs/designs/0051).
        """
        counts = self.survives.T.copy()
        counts[0] |= ~counts.any(0)
        return np.asarray((np.maximum(capacity_rru - self.left_each(load), 0.0) * counts).sum(0))


def loss_axis(losses: Sequence[DomainLoss]) -> tuple[LossAxis, Indices]:
    """Return the axis of `FleetSnapshot.losses`, and the columns (S, L) of each server."""
    ends = np.cumsum([len(loss.domains) for loss in losses])
    starts = ends - [len(loss.domains) for loss in losses]
    axis = LossAxis(ends=tuple(ends.tolist()), survives=np.stack([loss.survives for loss in losses], axis=1))
    columns = [loss.of + start for loss, start in zip(losses, starts, strict=True)]
    return axis, np.stack(columns, axis=1).astype(np.int32)
