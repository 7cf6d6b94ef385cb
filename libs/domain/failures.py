"""Servers that were lost, and the spare ones that can take their place: what replacements are decided on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from libs.domain.fleet import Bools, FleetSnapshot, Indices, TargetPlan


class LossVerdict(StrEnum):
    """What became of one lost server."""

    DRAWN = "drawn"
    """A spare server takes its place."""
    COVERED = "covered"
    """Its reservation is not short without it."""
    USELESS = "useless"
    """Its hardware type is of no use to its reservation any more."""
    WITH_PLACE = "with_place"
    """It was lost with its MSB or datacenter: the embedded buffer stands in (RAS, 3.3.1)."""
    NO_BUFFER = "no_buffer"
    """The region keeps no shared buffer of its hardware type."""
    BUFFER_EMPTY = "buffer_empty"
    """The shared buffer has no server left that is up."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FailuresSnapshot:
    """A region and what has failed in it, of one moment; T hardware types.

    lost         (S,) bool   down for an unplanned reason while a guaranteed reservation counts on it, by target
    with_place   (S,) bool   of those: an unplanned event of its MSB or datacenter is open
    spare        (S,) bool   up and not in maintenance, with the shared buffer of its type as target
    ready        (S,) bool   of those: already there, and no move under way
    buffer       (T,) int    row of the type's shared buffer among the reservations, or FREE
    """

    fleet: FleetSnapshot
    lost: Bools
    with_place: Bools
    spare: Bools
    ready: Bools
    buffer: Indices


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replacements:
    """A plan that swaps lost servers for spare ones, and what became of each lost server (L of them).

    lost      (L,) int    rows of the snapshot's servers, in the order in which they were decided
    verdict   (L,)        one for each
    """

    plan: TargetPlan
    lost: NDArray[np.intp]
    verdict: tuple[LossVerdict, ...]
