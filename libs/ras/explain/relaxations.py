"""What may decide, and the problem of one reservation without it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from libs.ras.problem import CountProblem

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Relaxation:
    """One thing that may decide. Without it no answer costs more than it did, so what is best with it stays possible.

    name      identifier that clients may match, CamelCase
    subject   the hardware type, where it is about one
    applies   whether there is such a thing to be without
    """

    name: str
    subject: str | None
    applies: Callable[[CountProblem], bool]
    relax: Callable[[CountProblem], CountProblem]


MOVE_COST = Relaxation(
    "MoveCost",
    None,
    lambda p: bool(p.held.any()) and p.leave_cost_dear > 0,
    lambda p: replace(p, leave_cost_cheap=0.0, leave_cost_dear=0.0),
)
"""Leaving a server costs nothing (expression 1)."""

ALWAYS = (
    Relaxation(
        "Capacity",
        None,
        lambda p: bool(p.capacity_rru[0] > 0),
        lambda p: replace(p, policy=replace(p.policy, shortfall_cost=0.0)),
    ),
    Relaxation(
        "MsbLoss", None, lambda p: bool(p.survives[0]), lambda p: replace(p, survives=np.zeros_like(p.survives))
    ),
    Relaxation(
        "BufferCost",
        None,
        lambda p: bool(p.survives[0]) and p.policy.buffer_cost > 0,
        lambda p: replace(p, policy=replace(p.policy, buffer_cost=0.0)),
    ),
    Relaxation(
        "MsbSpread",
        None,
        lambda p: bool(np.isfinite(p.msb_limit_rru[0])) and p.policy.spread_cost > 0,
        lambda p: replace(p, msb_limit_rru=np.full_like(p.msb_limit_rru, np.inf)),
    ),
    Relaxation(
        "Affinity",
        None,
        lambda p: not bool(np.isnan(p.affinity_share).all()),
        lambda p: replace(p, affinity_share=np.full_like(p.affinity_share, np.nan)),
    ),
)
"""A shortfall costs nothing (6); the loss of an MSB need not be survived (4, 6); the embedded buffer is free (4);
no limit to what one MSB holds (3); no datacenter is wanted (7)."""


def supply_of(hardware_type: int, name: str, rru: float) -> Relaxation:
    """As many more free servers of a type, worth `rru` each, in every MSB as the reservation could use (5)."""
    return Relaxation("Supply", name, lambda p: True, lambda p: with_plenty(p, hardware_type, rru))


def enough_of(problem: CountProblem, rru: float) -> int:
    """Servers worth `rru` of which the last could still be of use to the reservation if they stood in one MSB."""
    share = float(np.nanmax(problem.affinity_share, initial=1.0)) + problem.policy.affinity_tolerance
    return math.ceil(share * float(problem.capacity_rru[0]) / rru) + 1


def of_use(p: CountProblem) -> CountProblem:
    """The problem of one reservation without the servers that could not be of use to it: its places look alike then."""
    useful = [enough_of(p, rru) if rru > 0 else 0 for rru in p.rru.tolist()]
    return replace(p, most=np.minimum(p.most, np.maximum(p.held, np.array(useful, np.int64))))


def with_plenty(p: CountProblem, hardware_type: int, rru: float) -> CountProblem:
    """The problem of one reservation with `enough_of` a hardware type free in every MSB, where it has racks or not."""
    types = len(p.supply) // p.msbs
    filled = np.arange(p.msbs) * types + hardware_type
    supply = p.supply.copy()
    supply[filled] += enough_of(p, rru)
    places = np.union1d(p.place, filled)
    known = np.searchsorted(places, p.place)

    def spread(values: NDArray[Scalar], fill: float) -> NDArray[Scalar]:
        column = np.full(len(places), fill, values.dtype)
        column[known] = values
        return column

    value = spread(p.rru, rru)
    held_cheap, held_dear = spread(p.held_cheap, 0), spread(p.held_dear, 0)
    return replace(
        p,
        reservation=np.zeros(len(places), np.intp),
        msb=places // types,
        hardware_type=places % types,
        rru=value,
        held_cheap=held_cheap,
        held_dear=held_dear,
        most=np.where(places % types == hardware_type, supply[places], spread(p.most, 0)),
        supply=supply,
    )
