"""Capacity as a linear expression of columns, by substituting expression 9 with equality."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from libs.flux.program.columns import Columns
from libs.flux.program.problem import JointProblem
from libs.mip.model import Indices

Entry = tuple[Indices, Indices, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CapacityTerms:
    """Capacity as a sum of columns.

        c[t,k,r]  =  sum_p phi[s,p] x[t,p,r] + r_up[t,s,r] - r_down[t,s,r]     for a service s with one placement k

    Every other placement has a column of its own. The substitution makes expression 9 hold by itself and halves the
    rows of the program. Source: Flux, expression 9 with equality, as the interchange format reads it.
    """

    v: Columns
    p: JointProblem

    def entries(self, row: Indices, factor: ArrayLike = 1.0) -> list[Entry]:
        """Return entries that add factor[t,k,r] * c[t,k,r] to row[t,k,r] (T, K, R); a row of -1 adds to none."""
        v, p = self.v, self.p
        T, _, R, _, S, _ = p.shape
        by = np.broadcast_to(np.asarray(factor, np.float64), row.shape)
        alone = np.flatnonzero(p.alone)  # placement s belongs to service s
        service, product = np.nonzero(p.phi[alone])
        own = row[:, :S]
        found = [
            (
                own[:, alone[service]],
                v.x[:, product],
                by[:, alone[service]] * p.phi[alone[service], product][None, :, None],
            ),
            (own[:, alone], v.r_up[:, alone], by[:, alone]),
            (row[:, v.chosen], v.c, by[:, v.chosen]),
        ]
        step, s, r = np.unravel_index(v.r_down_cell, (T, S, R))
        single = p.alone[s]
        found.append((own[step, s, r][single], v.r_down[single], -by[step, s, r][single]))
        return [_kept(*entry) for entry in found]


def _kept(row: Indices, column: Indices, value: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Entry:
    rows, columns, values = np.broadcast_arrays(row, column, value)
    into = rows >= 0
    return rows[into], columns[into], values[into]
