"""Estimate the time of a wave, from the times of its moves and the bounds of the mover. Pure. See docs/designs/0027."""

from __future__ import annotations

import math

import numpy as np

from libs.domain.arrays import Bools, Floats, Ints
from libs.domain.mover import MOVES_MAX, MSB_SHARE_MAX, MoverBounds

TICK_S = 5.0
"""Seconds until the mover sees that a wave may begin."""


def wave_s(seconds: Floats, msb: Ints, takes: Bools, msb_servers: Ints, bounds: MoverBounds) -> float:
    """Return the expected seconds of a wave of N moves, of which there is one at least. Each has its expected
    `seconds`, its MSB, and `takes`: whether it takes its server from a reservation other than a shared buffer.

        tick + max(longest move, for each bound b on moves at a time: ceil(moves / b) * mean move)
             + 60 s for each further minute that the starts of an MSB take

    A bound of None has the default of the mover.
    """
    number = np.array([len(seconds)])
    at_a_time = _batches_s(seconds.sum(keepdims=True), number, np.array([bounds.moves_max or MOVES_MAX]))
    longest = max(float(seconds.max()), at_a_time)
    share = bounds.msb_share_max or MSB_SHARE_MAX
    leaving = np.maximum(1, (msb_servers * share).astype(np.int64))
    longest = max(longest, _per_msb(seconds[takes], msb[takes], leaving))
    if bounds.msb_moves_max is not None:
        longest = max(longest, _per_msb(seconds, msb, np.full(len(msb_servers), bounds.msb_moves_max)))
    if bounds.msb_starts_per_minute is not None:
        most = int(np.bincount(msb).max())
        longest += 60.0 * (math.ceil(most / bounds.msb_starts_per_minute) - 1)
    return TICK_S + longest


def _per_msb(seconds: Floats, msb: Ints, at_a_time: Ints) -> float:
    M = len(at_a_time)
    total_s = np.asarray(np.bincount(msb, weights=seconds, minlength=M), np.float64)
    return _batches_s(total_s, np.bincount(msb, minlength=M), at_a_time)


def _batches_s(total_s: Floats, number: Ints, at_a_time: Ints) -> float:
    """Return the time of the slowest place: its number of batches times its mean move."""
    mean_s = total_s / np.maximum(number, 1)
    return float((np.ceil(number / at_a_time) * mean_s).max(initial=0.0))
