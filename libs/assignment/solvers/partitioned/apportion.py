"""Divide amounts that several parts share among the parts.

An element is one value of an expression. The argument x of a limit is at most 0 if the limit holds, so -x is the room.
"""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Bools, Floats

WHOLE = 1e-9
"""Largest distance to a whole number at which a number counts as whole."""


def apportion(amount: Floats, weights: Floats) -> Floats:
    """Return shares (P, ...) of `amount` (...) for P parts. The shares of all parts add up to `amount`.

    A negative amount is room below a limit. If the room is a whole number of objects, it is divided in whole numbers,
    by largest remainders, because half an object fits nowhere. Any other amount is divided exactly by the weights. In
    particular, each part may repair any fraction of an excess.

    weights  (P, ...) the weight of each part; the weights of all parts add up to 1
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
    """Return for each part and element whether the part has the largest value in `own` there, (P, rows, columns).

    If several parts have the largest value, only the first of them counts. So exactly one part counts for each element.
    """
    first: Bools = np.arange(len(own))[:, None, None] == own.argmax(axis=0)
    return first


def by_holding(at_start: Floats, own: Floats, weights: Floats) -> Floats:
    """Return the weights by which to divide the value x(0) at the start among parts, (P, rows, columns).

    Excess over a limit, and surplus over a minimum, are divided by the holdings of the parts. Room below a limit, and
    a lack under a minimum, are divided by `weights`. The holding of a part is its own value less the constant, because
    every part has the constant in full: sum_p own[p] = x(0) + (parts - 1) constant.

    at_start  (rows, columns) x(0), the value of the whole at the start
    own       (P, rows, columns) the value of each part at the start
    weights   (P, rows, columns) the shares of parts in the elements
    """
    hand = weights > 0
    constant = (np.where(hand, own, 0.0).sum(axis=0) - at_start) / np.maximum(hand.sum(axis=0) - 1, 1)
    held = np.where(hand, (own - constant) * np.sign(at_start), 0.0)
    total = held.sum(axis=0)
    held = np.maximum(held, 0.0)
    some = (total > 0) & (held.sum(axis=0) > 0)
    return np.where(some, held / np.where(some, held.sum(axis=0), 1.0), weights)
