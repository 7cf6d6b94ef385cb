"""Divide shared amounts among parts."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Bools, Floats

WHOLE = 1e-9
"""Distance at which a number counts as whole."""


def apportion(amount: Floats, weights: Floats) -> Floats:
    """Return shares (P, ...) of an amount (...) by weights (P, ...) that add up to 1. The shares add up to the amount.

    Slack in whole numbers (amount <= 0: room for this many objects) is divided in whole numbers, by largest remainders,
    because half an object fits nowhere. Shortage is divided exactly, because any part may repair any fraction of it.
    """
    exact = weights * amount
    whole = (np.abs(amount - np.rint(amount)) < WHOLE) & (amount < 0)
    if not whole.any():
        return exact
    wanted = np.where(whole, -exact, 0.0)
    least = np.floor(wanted + WHOLE)
    missing = np.rint(np.where(whole, -amount, 0.0) - least.sum(axis=0))
    rank = np.argsort(np.argsort(least - wanted, axis=0, kind="stable"), axis=0, kind="stable")
    rounded = least + (rank < missing)
    return np.where(whole, -rounded, exact)


def holds_most(own: Floats) -> Bools:
    """Return whether a part is the first of those that hold most, (P, rows, columns); one part per element is."""
    first: Bools = np.arange(len(own))[:, None, None] == own.argmax(axis=0)
    return first


def by_holding(at_start: Floats, own: Floats, weights: Floats) -> Floats:
    """Return the weights for the division of x(0), (P, rows, columns): by the parts' holdings if these cause it.

    Excess over a limit belongs to the parts that hold something, and so does the surplus over a minimum. Room below a
    limit and a lack under a minimum belong to all. The holding is the own value less constants, because every part has
    the constants in full: sum_p own[p] = x(0) + (parts - 1) constant.
    """
    hand = weights > 0
    constant = (np.where(hand, own, 0.0).sum(axis=0) - at_start) / np.maximum(hand.sum(axis=0) - 1, 1)
    held = np.where(hand, (own - constant) * np.sign(at_start), 0.0)
    total = held.sum(axis=0)
    held = np.maximum(held, 0.0)
    some = (total > 0) & (held.sum(axis=0) > 0)
    return np.where(some, held / np.where(some, held.sum(axis=0), 1.0), weights)
