"""Compute the offer of a market in one state: the room by shape and pool, and the rents of scarce dimensions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.solvers.price.market import Market
from libs.assignment.solvers.price.state import State


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Offer:
    """The remaining room of the containers, by shape and by pool.

    most    (S, D)    the largest remaining room of one container of the shape; -1: the shape has no container
    supply  (P, D)    the total remaining room of the containers of the pool
    rent    (S, D)    the price that an object pays in the shape if it does not use a dimension that other shapes lack
    first   (S + 1,)  the containers of shape s are listed[first[s]:first[s + 1]]
    listed  (C',)     the containers that have a shape, by shape
    """

    most: Floats
    supply: Floats
    rent: Floats
    first: Ints
    listed: Ints


def offer_of(market: Market, state: State, rent: float) -> Offer:
    """Return the offer of `market` in the state `state`.

    rent  the price for blocking a scarce dimension, as a share of the least positive worth of an object
    """
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
    """Return the rent of each shape in each dimension, (S, D): `share` of the least positive worth, or 0.

    A dimension that some shapes lack, such as accelerators, has a rent in the other shapes. The rent keeps these shapes
    for objects that need the dimension.
    """
    has = np.zeros((market.shapes, len(market.dimensions)), dtype=bool)
    inside = market.shape >= 0
    np.logical_or.at(has, market.shape[inside], (market.bounded & (market.capacity > 0.0))[inside])
    lacking: Bools = np.asarray(~has.all(axis=0))
    gains = market.worth.sum(axis=1)
    least = float(gains[gains > 0].min(initial=np.inf))
    return np.where(has & lacking, share * least if np.isfinite(least) else 0.0, 0.0)
