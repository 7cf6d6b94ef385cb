"""The capacity estimator: what a service needs in each region when any one region is lost (Flux, 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from libs.domain.fleet import Floats, Indices

EMPTY = 1e-9
"""Of a product's traffic, what lies outside of a region: less than this, and its loss leaves nobody to follow."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RegionLoss:
    """What the loss of a region asks for. T steps, S services, R regions.

    needed   (T, S, R)      capacity within the utilisation limit, whichever other region is lost; 0: nothing is known
    decides  (T, S, R) int  the region whose loss needs most
    """

    needed: Floats
    decides: Indices


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Guarded:
    """Losses that a program provides for, and the traffic about which it takes them to be linear.

    traffic  (T, P, R)   that of the solve before
    losses   (N, 4) int  step, service and region that are provided for, and the other region that is lost
    """

    traffic: Floats
    losses: NDArray[np.intp]


def diverted(traffic: Floats) -> Floats:
    """(T, P, R, R) a product's traffic in a region when another is lost: the last axis; 0 in what is lost itself.

        x[t,p,r] whole / (whole - x[t,p,l]),   whole = sum_r x[t,p,r]

    Lost traffic spreads over the product's other regions in proportion to what it has there; where it has none
    anywhere else, evenly.
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
    """Lose each region in turn and see what the others then need.

    needed   (S, P)     capacity for all traffic of a product, see LoadModels
    traffic  (T, P, R)  proposed
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
    """Provide for the losses that decide on this traffic, behind all that were provided for before."""
    found = simulate_losses(needed, traffic)
    t, s, r = np.nonzero(found.needed > 0)
    losses = np.stack([t, s, r, found.decides[t, s, r]], 1)
    if before is not None:
        known = set(map(tuple, before.losses.tolist()))
        new = [row for row in losses.tolist() if tuple(row) not in known]
        losses = np.concatenate([before.losses, np.array(new, losses.dtype).reshape(-1, 4)])
    return Guarded(traffic=traffic, losses=losses)
