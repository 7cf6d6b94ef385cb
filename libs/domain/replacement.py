"""Lost servers and the spare servers that can replace them: the input and output of the replacement decision."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Bools, Floats, Indices, Ints
from libs.domain.fleet import FleetSnapshot, TargetPlan

BURST_LOST_SHARE = 0.25
"""Share of a domain's servers that are down, below which the domain never counts as lost."""


class LossVerdict(StrEnum):
    """The decision about one lost server."""

    DRAWN = "drawn"
    """A spare server replaces it."""
    COVERED = "covered"
    """The reservation still has its capacity without the lost server."""
    USELESS = "useless"
    """The reservation no longer accepts the hardware type of the lost server."""
    WITH_PLACE = "with_place"
    """The server was lost with its MSB, datacenter or further domain, so the embedded buffer covers it (RAS, 3.3.1)."""
    HELD = "held"
    """It waits: a domain of it may be about to be lost, which the embedded buffer covers (docs/designs/0028)."""
    NO_BUFFER = "no_buffer"
    """The region keeps no shared buffer of the lost server's hardware type."""
    BUFFER_EMPTY = "buffer_empty"
    """No server left in the shared buffer is up and within the hard limits of the reservation."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FailuresSnapshot:
    """A region and its failures at one moment. S servers, T hardware types.

    lost         (S,) bool   down for an unplanned reason, and the target of a guaranteed reservation
    with_place   (S,) bool   servers that are down, and for whose MSB or datacenter an unplanned event is open
    event_domain (S,) int    of each server that is down, a domain of a further kind with an open unplanned event;
                             UNPLACED: none has one
    down_s       (S,) s      time since each server that is down went down; inf for the others, and if it is not known
    spare        (S,) bool   up, not in maintenance, and the target is the shared buffer of its type
    ready        (S,) bool   spare servers that are bound to the shared buffer now, without a move under way
    buffer       (T,) int    row of the type's shared buffer among the reservations, or FREE
    swap         (S,) int    id of the plan of replacements that bound the server as it is now, of the last hour; or 0
    swap_from    (S,) int    row of the reservation that the server left by it, or FREE
    swap_s       (S,) s      time since that plan; inf for the others
    """

    fleet: FleetSnapshot
    lost: Bools
    with_place: Bools
    event_domain: Ints
    spare: Bools
    ready: Bools
    buffer: Indices
    down_s: Floats
    swap: Ints
    swap_from: Indices
    swap_s: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replacements:
    """A plan that swaps lost servers for spare ones, with a verdict for each lost server. L lost servers.

    returned  number of earlier swaps that the plan takes back, because their domain is lost
    lost      (L,) int    rows of the snapshot's servers, in the order of the decisions
    verdict   (L,)        LossVerdict of each lost server
    """

    plan: TargetPlan
    lost: NDArray[np.intp]
    verdict: tuple[LossVerdict, ...]
    returned: int = 0
