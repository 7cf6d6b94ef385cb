"""The capacity estimator: what a service needs in each region when any one region is lost (Flux, 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.fleet import Floats, Indices

EMPTY = 1e-9
"""Of a product's traffic, what lies outside of a region: less than this, and its loss leaves nobody to follow."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Diversion:
    """Where traffic goes when a region is lost. T steps, P products, R regions.

        x[t,p,r] when region l is lost  =  factor[t,l,p] x[t,p,r] + extra[t,l,p]        for all r other than l

    A product's lost traffic spreads over its other regions in proportion to what it has there; where it has none
    anywhere else, evenly.
    """

    factor: Floats
    extra: Floats

    @classmethod
    def of(cls, traffic: Floats) -> Diversion:
        """Of traffic (T, P, R)."""
        R = traffic.shape[2]
        whole = traffic.sum(2, keepdims=True)
        left = whole - traffic
        nobody = left <= EMPTY * np.maximum(whole, EMPTY)
        factor = np.where(nobody, 1.0, np.divide(whole, left, out=np.ones_like(left), where=~nobody))
        extra = np.where(nobody, traffic / max(R - 1, 1), 0.0)
        return cls(factor=factor.swapaxes(1, 2), extra=extra.swapaxes(1, 2))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RegionLoss:
    """What the loss of a region asks for. T steps, S services, R regions.

    needed   (T, S, R)      capacity within the utilisation limit, whichever other region is lost; 0: nothing is known
    decides  (T, S, R) int  the region whose loss needs most
    """

    needed: Floats
    decides: Indices


def simulate_losses(needed: Floats, traffic: Floats) -> RegionLoss:
    """Lose each region in turn and see what the others then need.

    needed   (S, P)     capacity for all traffic of a product, see LoadModels
    traffic  (T, P, R)  proposed
    """
    T, _, R = traffic.shape
    S = len(needed)
    most, decides = np.zeros((T, S, R)), np.zeros((T, S, R), np.int32)
    diverted = Diversion.of(traffic)
    for lost in range(R):
        load = diverted.factor[:, lost, :, None] * traffic + diverted.extra[:, lost, :, None]
        asked = np.einsum("sp,tpr->tsr", needed, load)
        asked[:, :, lost] = -1.0
        more = asked > most
        most[more], decides[more] = asked[more], lost
    return RegionLoss(needed=most, decides=decides)
