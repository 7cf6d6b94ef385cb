"""Count the loans of a plan of waves, and their time. Pure. See docs/designs/0038."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Bools, Floats, Ints
from libs.domain.wave_loans import Lendable, WaveLoans
from libs.domain.waves import NEVER, NONE, WavePlan


def loan_seconds(plan: WavePlan, lendable: Lendable) -> Floats:
    """Return the expected seconds (L,) of each loan, from the beginning of its wave until its server has left."""
    W, loans = len(plan.seconds), plan.loans
    begin_s = np.concatenate([[0.0], np.cumsum(plan.seconds)])
    last = np.where((loans.ends == NEVER) | (loans.ends == W), W, loans.ends)
    end_s = begin_s[last] + lendable.return_s
    return np.asarray(end_s - begin_s[np.maximum(loans.begins, 0)], np.float64)


def most_lent(plan: WavePlan, number: int) -> Ints:
    """Return how many servers are lent to each of `number` reservations at a time, at most."""
    loans, most = plan.loans, np.zeros(number, np.int64)
    if len(loans):
        last = np.where(loans.ends == NEVER, len(plan.seconds) + 1, loans.ends)
        for k in np.unique(np.maximum(loans.begins, 0)).tolist():
            is_there = (loans.begins <= k) & (last > k)
            most = np.maximum(most, np.bincount(loans.reservation[is_there], minlength=number))
    return most


def lend_at(loans: WaveLoans, local: Ints, held: Floats, which: Bools, sign: float) -> None:
    """Add the loans `which` (L,) to `held`, or remove them. Reservation r is row `local[r]` of `held`, or NONE."""
    row = local[loans.reservation]
    own = np.flatnonzero(which & (row != NONE))
    np.add.at(held, (row[own, None], loans.domain[own]), sign * loans.rru[own, None])
