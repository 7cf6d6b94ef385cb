"""Capacity as a linear expression of columns: what expression 9 with equality leaves of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from libs.flux.columns import Columns
from libs.flux.problem import JointProblem
from libs.mip.model import Indices

Entry = tuple[Indices, Indices, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CapacityTerms:
    """What capacity is made of.

        c[t,k,r]  =  sum_p phi[s,p] x[t,p,r] + r_up[t,s,r] - r_down[t,s,r]     for a service s with one placement k

    and a column of its own for every other placement. Writing capacity so halves the rows of the program: expression 9
    holds by itself. Source: Flux, expression 9 with equality, the reading of the interchange format.
    """

    v: Columns
    p: JointProblem

    def entries(self, row: Indices, factor: ArrayLike = 1.0) -> list[Entry]:
        """Entries that put factor[t,k,r] * c[t,k,r] into row[t,k,r] (T, K, R); -1: into none."""
        v, p = self.v, self.p
        T, _, R, _, S, _ = p.shape
        by = np.broadcast_to(np.asarray(factor, np.float64), row.shape)
        alone = np.flatnonzero(p.alone)  # placement s of service s
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
