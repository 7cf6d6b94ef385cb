"""Split a change of traffic over regions into amounts from one region to another."""

from __future__ import annotations

from libs.domain.arrays import Floats


def region_pairs(change: Floats) -> list[tuple[int, int, float]]:
    """Return (from, to, amount) for one product, so that the amounts add up to `change` in every region.

    change   (R,) change of the product's share of traffic; gains and losses are equal

    The amounts move no more than the gains, and at most R - 1 pairs carry them: the largest loss goes to the largest
    gain first. Each pair ends a loss or a gain.
    """
    losses = [(float(-change[r]), int(r)) for r in (change < 0).nonzero()[0]]
    gains = [(float(change[r]), int(r)) for r in (change > 0).nonzero()[0]]
    losses.sort(key=lambda one: (one[0], -one[1]))
    gains.sort(key=lambda one: (one[0], -one[1]))
    found: list[tuple[int, int, float]] = []
    while losses and gains:
        (lost, away), (gained, to) = losses.pop(), gains.pop()
        amount = min(lost, gained)
        found.append((away, to, amount))
        if lost - amount > _ROUNDING:
            losses.append((lost - amount, away))
        if gained - amount > _ROUNDING:
            gains.append((gained - amount, to))
    return found


_ROUNDING = 1e-9
