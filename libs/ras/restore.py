"""Counts in which somebody is worse off than now are mended, and not thrown away."""

from __future__ import annotations

import numpy as np

from libs.ras.cost import cost_of
from libs.ras.problem import CountProblem, Counts


def without_regression(problem: CountProblem, counts: Counts) -> Counts:
    """(N,) the counts, with those whose penalty would exceed its limit given back what they hold now.

    What they take back comes from whoever gains at that place: all of what is held now fits, so it is there. Those who
    lose by it may be next; each is given back but once, so this ends. What supply it frees is for a descent to use.
    Nothing changes where nobody is over the limit.
    """
    counts, held, place = counts.copy(), problem.held, problem.place
    restored = np.zeros(problem.reservations, bool)
    by_place = np.argsort(place, kind="stable")
    while True:
        penalty = cost_of(problem, counts).penalty_by_reservation
        worse = (penalty > problem.penalty_most + problem.penalty_slack) & ~restored
        if not worse.any():
            return counts
        restored |= worse
        counts = np.where(restored[problem.reservation], held, counts)
        gained = np.maximum(counts - held, 0)[by_place]
        over = np.maximum(np.bincount(place, counts, len(problem.supply)).astype(np.int64) - problem.supply, 0)
        before = np.cumsum(gained) - gained
        first = np.searchsorted(place[by_place], place[by_place])  # where each count's place begins
        counts[by_place] -= np.clip(over[place[by_place]] - (before - before[first]), 0, gained)
