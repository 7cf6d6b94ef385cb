"""What is shared is divided."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Bools, Floats

WHOLE = 1e-9
"""A number so near a whole one is taken for it."""


def apportion(amount: Floats, weights: Floats) -> Floats:
    """(P, ...) shares of an amount (...) by weights (P, ...) that add up to 1, and so do the shares to the amount.

    Slack in whole numbers (amount <= 0: as many more objects fit) is divided in whole numbers, by largest remainders:
    half an object fits nowhere. Shortage is divided as it is: any part may mend any bit of it.
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
    """(P, rows, columns) whether a part is the first of those that hold most, so that one alone is."""
    first: Bools = np.arange(len(own))[:, None, None] == own.argmax(axis=0)
    return first


def by_holding(at_start: Floats, own: Floats, weights: Floats) -> Floats:
    """(P, rows, columns) what weighs in the division of x(0): where it stems from what the parts hold, that.

    Excess over a limit lies with those who hold something, and so does what is held beyond a minimum; room below a
    limit and what a minimum lacks are anybody's. What is held is own value less constants, these being in every part's
    in full: sum_p own[p] = x(0) + (parts - 1) constant.
    """
    hand = weights > 0
    constant = (np.where(hand, own, 0.0).sum(axis=0) - at_start) / np.maximum(hand.sum(axis=0) - 1, 1)
    held = np.where(hand, (own - constant) * np.sign(at_start), 0.0)
    total = held.sum(axis=0)
    held = np.maximum(held, 0.0)
    some = (total > 0) & (held.sum(axis=0) > 0)
    return np.where(some, held / np.where(some, held.sum(axis=0), 1.0), weights)
