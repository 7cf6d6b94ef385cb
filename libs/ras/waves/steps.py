"""The steps of a move, how long they take, and which moves the mover prefers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices, Ints
from libs.domain.move import MoveStep

DEFAULT_STEP_S: Mapping[MoveStep, float] = {
    MoveStep.ABORT: 10.0,
    MoveStep.PREEMPT: 60.0,
    MoveStep.CLEAN: 90.0,
    MoveStep.HOST_PROFILE: 240.0,
    MoveStep.JOIN: 20.0,
}
"""Seconds of a step that the region has not done often enough to measure. Containers get a minute to end, and a change
of the host profile is a reboot.
"""
_Flag = TypeVar("_Flag", bool, Bools)


def needed_steps(
    *, runs: _Flag, joins: _Flag, other_profile: _Flag, unclean: _Flag, in_doubt: _Flag
) -> tuple[tuple[MoveStep, _Flag], ...]:
    """Return whether a move needs each step, in their order. Arguments and answers are values of one move, or arrays of
    many. For a server in doubt, the first step brings the server to a known state. An unclean server is cleaned. A
    shared buffer holds clean servers in its host profile, and they join nothing (docs/designs/0028).

    runs            the server may run something of the reservation that it leaves
    joins           the server goes to a reservation, and not to a shared buffer
    other_profile   the server goes to a reservation or a buffer, whose host profile differs
    """
    return (
        (MoveStep.ABORT, in_doubt),
        (MoveStep.PREEMPT, runs),
        (MoveStep.CLEAN, runs | unclean),
        (MoveStep.HOST_PROFILE, other_profile),
        (MoveStep.JOIN, joins),
    )


def seconds_of(needed: Mapping[MoveStep, Bools], step_s: Mapping[MoveStep, float]) -> Floats:
    """Return the (N,) expected seconds of moves that need these steps. A step without a measurement takes its
    default.
    """
    return np.asarray(sum(step_s.get(step, DEFAULT_STEP_S[step]) * mask for step, mask in needed.items()), np.float64)


def preferred_order(*, urgent: Bools, in_use: Bools, to_none: Bools, key: Ints) -> Indices:
    """Return the rows of N moves in the order in which they start: replacements, then unused servers, then used ones.
    Among these, the moves that bring capacity come first, then the lower key.
    """
    return np.asarray(np.lexsort((key, to_none, in_use, ~urgent)), np.int32)
