"""The domains that reservations can lose, side by side on one axis. Every rule of survival reads loads on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Bools, Floats, Indices
from libs.domain.domain_kind import DomainLoss
from libs.domain.resources import Measure


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossAxis:
    """W columns: the MSBs first, then the domains of each further kind that a reservation survives. A load has each
    server once for each of the L kinds.

    The axis repeats these columns for each of the M measures: the RRU first, then the resources that a reservation asks
    for, as shares of its capacity in RRU (docs/designs/0058). A load is (N, P) RRU, with P = M W. A reservation that
    does not ask for a resource has its RRU there.

    ends      the column after the last one of each kind; the first of them is the number of MSBs
    survives  (R, L) bool   whether a reservation is to survive the loss of any one domain of a kind
    weight    (R, M)        factor of each measure in penalties; 0: not asked for. None: there are RRU alone
    """

    ends: tuple[int, ...]
    survives: Bools
    weight: Floats | None = None

    @property
    def msbs(self) -> int:
        """Return the number of MSBs."""
        return self.ends[0]

    @property
    def width(self) -> int:
        """Return W."""
        return self.ends[-1]

    @property
    def measures(self) -> int:
        """Return M."""
        return 1 if self.weight is None else self.weight.shape[1]

    @property
    def columns(self) -> int:
        """Return P."""
        return self.measures * self.width

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Return the first column of each kind, and the column after its last one, of the first measure."""
        return tuple(zip((0, *self.ends[:-1]), self.ends, strict=True))

    def columns_of(self, domain: Indices) -> Indices:
        """Return the columns (N, M L) of servers, of all measures, for those of the first measure (N, L)."""
        starts = np.arange(self.measures, dtype=domain.dtype) * self.width
        columns = starts[:, None] + domain[:, None, :]
        return np.asarray(columns.reshape(len(domain), self.measures * domain.shape[1]))

    def values_of(self, worth: Floats) -> Floats:
        """Return the values (N, M L) at the columns of servers, for their worth (N, M) in each measure."""
        return np.repeat(worth, len(self.ends), axis=1)

    def total_rru(self, load: Floats) -> Floats:
        """Return the RRU (N,) of each row of a load (N, P), in the measure with least."""
        return np.asarray(np.min([load[:, a : a + self.msbs].sum(1) for a in self._starts], axis=0))

    def left_each(self, load: Floats, rows: NDArray[np.integer] | slice = slice(None)) -> Floats:
        """Return the RRU (M, L, N) that are left after the worst loss of each kind; all, where it need not be survived.

        load   (N, P) RRU
        rows   (N,) reservation of each row of the load; all reservations, one row each, if left out
        """
        survives, left = self.survives[rows], []
        for start in self._starts:
            total = load[:, start : start + self.msbs].sum(1)
            worst = [
                np.where(survives[:, k], load[:, start + a : start + b].max(1, initial=0.0), 0.0)
                for k, (a, b) in enumerate(self.spans)
            ]
            left.append(total - np.array(worst))
        return np.array(left)

    def left_rru(self, load: Floats, rows: NDArray[np.integer] | slice = slice(None)) -> Floats:
        """Return the RRU (N,) that are left after the worst loss that a reservation is to survive, in the measure with
        least. See `left_each`.
        """
        return np.asarray(self.left_each(load, rows).min((0, 1)))

    def unmet_rru(self, load: Floats, capacity_rru: Floats) -> Floats:
        """Return the RRU (R,) that penalties count: what is missing after the loss of each kind, added over the kinds
        and the measures.

        It is the shortfall of a reservation without resources that survives one kind of loss, or none
        (docs/designs/0051).
        """
        counts = self.survives.T.copy()
        counts[0] |= ~counts.any(0)
        missing = (np.maximum(capacity_rru - self.left_each(load), 0.0) * counts).sum(1)
        return np.asarray((missing if self.weight is None else missing * self.weight.T).sum(0))

    @property
    def _starts(self) -> range:
        return range(0, self.columns, self.width) if self.width else range(self.measures)


def loss_axis(losses: Sequence[DomainLoss], measures: Sequence[Measure]) -> tuple[LossAxis, Indices]:
    """Return the axis of a snapshot's losses and measures, and the columns (S, M L) of each server."""
    ends = np.cumsum([len(loss.domains) for loss in losses])
    starts = ends - [len(loss.domains) for loss in losses]
    axis = LossAxis(
        ends=tuple(ends.tolist()),
        survives=np.stack([loss.survives for loss in losses], axis=1),
        weight=np.stack([one.weight for one in measures], axis=1) if len(measures) > 1 else None,
    )
    columns = [loss.of + start for loss, start in zip(losses, starts, strict=True)]
    return axis, axis.columns_of(np.stack(columns, axis=1).astype(np.int32))
