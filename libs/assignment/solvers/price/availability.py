"""Compute the offer at a moment: room by shape, and the penalty for blocking scarce dimensions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.solvers.price.market import Market
from libs.assignment.solvers.price.state import State


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Offer:
    """The remaining room.

    most    (S, D)  the largest remaining room of one container of a shape; -1: there is none
    supply  (P, D)  the remaining room of a pool's containers together
    rent    (S, D)  price for an object that does not use a dimension which other shapes lack
    first   (S + 1,), listed (C',)  the containers of shape s are listed[first[s]:first[s + 1]]
    """

    most: Floats
    supply: Floats
    rent: Floats
    first: Ints
    listed: Ints


def offer_of(market: Market, state: State, rent: float) -> Offer:
    """Return the present offer. `rent` is a share of the least worth of an object."""
    listed = np.argsort(market.shape, kind="stable")
    listed = listed[market.shape[listed] >= 0]
    first = np.searchsorted(market.shape[listed], np.arange(market.shapes + 1))
    left = np.maximum(state.left[listed], 0.0)
    dimensions = left.shape[1]
    most = np.full((market.shapes, dimensions), -1.0)
    supply = np.zeros((market.pools, dimensions))
    shape = market.shape[listed]
    np.maximum.at(most, shape, left)
    np.add.at(supply, market.pool[shape], left)
    return Offer(most=most, supply=supply, rent=_rent(market, rent), first=first, listed=listed)


def _rent(market: Market, share: float) -> Floats:
    """Return the rents. They keep a dimension that some shapes lack (such as accelerators) for objects that need it."""
    has = np.zeros((market.shapes, len(market.dimensions)), dtype=bool)
    inside = market.shape >= 0
    np.logical_or.at(has, market.shape[inside], (market.bounded & (market.capacity > 0.0))[inside])
    lacking: Bools = np.asarray(~has.all(axis=0))
    gains = market.worth.sum(axis=1)
    least = float(gains[gains > 0].min(initial=np.inf))
    return np.where(has & lacking, share * least if np.isfinite(least) else 0.0, 0.0)
