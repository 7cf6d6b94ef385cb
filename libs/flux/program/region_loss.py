"""The capacity estimator: the need of a service in each region when another region is lost (Flux, 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Floats, Indices

EMPTY = 1e-9
"""Share of a product's traffic outside a region below which all its traffic counts as inside."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RegionLoss:
    """The need after the loss of a region. T steps, S services, R regions.

    needed   (T, S, R)      capacity within the utilisation limit for the worst loss of another region; 0: nothing known
    decides  (T, S, R) int  the region whose loss needs most capacity
    """

    needed: Floats
    decides: Indices


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Guarded:
    """Region losses that a program provides for. The program linearises them at a given traffic.

    traffic  (T, P, R)   traffic of the previous solve
    losses   (N, 4) int  step, service, region that is provided for, and region that is lost
    """

    traffic: Floats
    losses: NDArray[np.intp]


def diverted(traffic: Floats) -> Floats:
    """Return the (T, P, R, R) traffic of a product in a region when the region of the last axis is lost.

        x[t,p,r] whole / (whole - x[t,p,l]),   whole = sum_r x[t,p,r]

    Lost traffic spreads over the product's other regions in proportion to its traffic there, or evenly if it has none
    elsewhere. Traffic in the lost region itself is 0.
    """
    T, P, R = traffic.shape
    whole = traffic.sum(2, keepdims=True)
    left = whole - traffic
    nobody = left <= EMPTY * np.maximum(whole, EMPTY)
    factor = np.where(nobody, 1.0, np.divide(whole, left, out=np.ones_like(left), where=~nobody))
    evenly = np.where(nobody, traffic / max(R - 1, 1), 0.0)
    after = traffic[:, :, :, None] * factor[:, :, None, :] + evenly[:, :, None, :]
    after[:, :, np.arange(R), np.arange(R)] = 0.0
    return np.asarray(after.reshape(T, P, R, R))


def simulate_losses(needed: Floats, traffic: Floats) -> RegionLoss:
    """Simulate the loss of each region, one at a time, and return the largest need of every other region.

    needed   (S, P)     capacity for all traffic of a product, see LoadModels
    traffic  (T, P, R)  proposed share of a product's traffic in a region
    """
    T, _, R = traffic.shape
    most, decides = np.zeros((T, len(needed), R)), np.zeros((T, len(needed), R), np.int32)
    after = diverted(traffic)
    for lost in range(R):
        asked = np.einsum("sp,tpr->tsr", needed, after[..., lost])
        more = asked > most
        most[more], decides[more] = asked[more], lost
    return RegionLoss(needed=most, decides=decides)


def guard(needed: Floats, traffic: Floats, before: Guarded | None = None) -> Guarded:
    """Return the losses to provide for: those in `before`, then the worst loss for each service and region with
    `traffic`.
    """
    found = simulate_losses(needed, traffic)
    t, s, r = np.nonzero(found.needed > 0)
    losses = np.stack([t, s, r, found.decides[t, s, r]], 1)
    if before is not None:
        known = set(map(tuple, before.losses.tolist()))
        new = [row for row in losses.tolist() if tuple(row) not in known]
        losses = np.concatenate([before.losses, np.array(new, losses.dtype).reshape(-1, 4)])
    return Guarded(traffic=traffic, losses=losses)
