"""Tell how probable it is that a reservation stays whole, from what it holds in each MSB and how often MSBs are lost.

See docs/designs/0057. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools, Floats
from libs.domain.failure_record import MsbLossRecord
from libs.domain.loss_outlook import LossGround
from libs.domain.reservation import ROUNDING


@dataclass(frozen=True, slots=True, kw_only=True)
class ChanceWhole:
    """The chance of one reservation to hold its promise at every moment until the horizon.

    capacity_rru  RRU that it asks for
    granted_rru   RRU that are promised: what was granted of them. If nothing was, the chance is 1
    missing_rru   RRU that it lacks of its promise now; above 0: it is not whole, so the chance is 0
    fatal_msbs    MSBs whose loss alone would leave it short
    fatal_pairs   further pairs of MSBs whose loss at one time would leave it short
    times_short   expected number of times that it would fall short
    chance        probability of none: exp(-times_short)
    """

    reservation: str
    owner: str
    survives_msb_loss: bool
    capacity_rru: float
    granted_rru: float
    missing_rru: float
    fatal_msbs: int
    fatal_pairs: int
    times_short: float
    chance: float


def chances_whole(ground: LossGround, record: MsbLossRecord, *, horizon_s: float) -> tuple[ChanceWhole, ...]:
    """Return the chance of each reservation, least first. MSBs are lost independently, at one rate, and come back.

        times[r] = T lambda single[r] + T 2 lambda^2 D pairs[r]

    T       s      the horizon
    lambda  1/s    rate at which one MSB is lost; D s, the mean time until it is back
    single  (R,)   MSBs whose loss leaves r below its promise
    pairs   (R,)   pairs of other MSBs whose loss leaves it there; either may be the first

    Servers that fail alone do not count: spare servers replace them. Neither do three losses at one time, nor moves.
    Nor do domains of further kinds, also if the reservation survives their loss: their rate is not measured.
    """
    granted, rows = ground.granted_rru, ground.rows_rru
    held, is_hit = ground.least(rows.sum(1)), ground.held_rru > 0
    least = granted - ROUNDING * np.maximum(granted, held)
    short_now = held < least
    fatal = is_hit & (ground.least(rows.sum(1)[:, None] - rows) < least[:, None])
    pairs = _fatal_pairs(ground, least, fatal)
    rate, down_s = record.per_s, record.mean_down_s
    times = horizon_s * (rate * fatal.sum(1) + 2 * rate**2 * down_s * pairs)
    chance = np.where(short_now, 0.0, np.exp(-times))
    found = [
        ChanceWhole(
            reservation=str(ground.reservation[r]),
            owner=str(ground.owner[r]),
            survives_msb_loss=bool(ground.survives[r]),
            capacity_rru=float(ground.capacity_rru[r]),
            granted_rru=float(granted[r]),
            missing_rru=float(granted[r] - held[r]) if short_now[r] else 0.0,
            fatal_msbs=int(fatal[r].sum()),
            fatal_pairs=int(pairs[r]),
            times_short=float(times[r]),
            chance=float(chance[r]),
        )
        for r in range(len(granted))
    ]
    return tuple(sorted(found, key=lambda one: (one.chance, one.reservation)))


def _fatal_pairs(ground: LossGround, least: Floats, fatal: Bools) -> Floats:
    """Return the (R,) pairs of MSBs, none of them fatal alone, without which a reservation holds less than `least`."""
    rows, is_hit = ground.rows_rru, ground.held_rru > 0
    total, pairs = rows.sum(1), np.zeros(len(least))
    for m in range(rows.shape[1]):
        others = slice(m + 1, None)
        both = ground.least(total[:, None] - rows[:, [m]] - rows[:, others]) < least[:, None]
        lose = is_hit[:, [m]] | is_hit[:, others]
        pairs += (both & lose & ~fatal[:, [m]] & ~fatal[:, others]).sum(1)
    return pairs
