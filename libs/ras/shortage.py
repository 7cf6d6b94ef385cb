"""Describe in words and numbers why a reservation is short of capacity, and which servers it needs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats, Ints
from libs.domain.domain_kind import WorstDomain
from libs.domain.fleet import FleetSnapshot
from libs.domain.guest import number_name, unit_in_words
from libs.domain.words import counted_are
from libs.ras.hard_limits import has_limits, limits_in_words

_ROUNDING_RRU = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """The shortage of a reservation.

    reason   an identifier that clients may match, CamelCase
    message  a text for people
    numbers  the numbers of the message by name. `needed_servers` is a lower bound where the message says "at least"
    """

    reason: str
    message: str
    numbers: Mapping[str, float]


def describe_shortage(
    snapshot: FleetSnapshot,
    reservation: int,
    *,
    stock: Ints,
    short_rru: float,
    worst: WorstDomain | None,
    free_servers: int,
    granted_servers: int = 0,
    beyond_shares: int = 0,
    resource: str | None = None,
    names_limits: bool = True,
) -> Shortage:
    """Name the number and hardware type of missing servers, the domain to avoid, and the number of free servers.

    The named hardware type is the type whose servers in the region have the most RRU for the reservation in total.

    reservation      row of the reservation in the snapshot
    stock            (T,) number of servers of each hardware type in the region
    short_rru        the RRU that the reservation lacks
    worst            the domain whose loss takes most from the reservation: more servers there would not help. None: it
                     survives no loss, or holds nothing
    free_servers     number of free servers that could lower the shortage
    granted_servers  number of those free servers that the caller binds to the reservation. The reservation lacks
                     `short_rru` in spite of these servers
    beyond_shares    number of further free servers that its datacenter shares bar (libs/ras/helpful_servers.py)
    resource         the resource of which it lacks the largest share; None: the RRU themselves. `short_rru` counts this
                     share
    names_limits     whether to name its hard limits; False: the caller says what they bar
    """
    q = snapshot.reservations
    measure = next(one for one in snapshot.measures_of(reservation) if one.resource == resource)
    rru = measure.share_rru(q.rru[[reservation]])[0]
    eligible = np.flatnonzero(rru > 0)
    what, unit = unit_in_words(resource), float(measure.share[0] * measure.worth[0])
    short, asked = short_rru / unit, float(q.capacity_rru[reservation]) / unit
    more = {} if resource is None else {f"short_{number_name(resource)}": short}
    if not len(eligible):
        lacking = "" if resource is None else f" with {what}"
        return Shortage(
            reason="NoEligibleHardware",
            message=f"Uses no hardware type of this region{lacking}, so it is short of all {short:.4g} {what}. Resize "
            "it to allow a type that the region has.",
            numbers={"short_rru": short_rru, **more},
        )
    best = best_type(rru, stock)
    needed = granted_servers + math.ceil((short_rru - _ROUNDING_RRU) / rru[best])
    rest = [str(snapshot.hardware_types[t]) for t in eligible if t != best]
    others = f" (or {rest[0] if len(rest) == 1 else f'{len(rest)} other types'})" if rest else ""
    outside = f" outside {worst.words}" if worst is not None and resource is None else ""
    # Another domain may then give most, and its loss take more. Another measure may lack more servers. A reservation
    # that holds nothing has no worst domain yet, and needs a buffer all the same.
    survives = any(loss.survives[reservation] for loss in snapshot.losses)
    least = "at least " if survives or resource is not None else ""
    message = (
        f"Needs {least}{needed} more {snapshot.hardware_types[best]}{others}{outside}; {free_servers} free. "
        f"Short of {short:.4g} of {asked:g} {what} until servers are returned, repaired or "
        "added; every solve looks for servers that others can spare."
    )
    if names_limits and has_limits(snapshot, reservation):
        message += f" It may take only servers within its limits ({limits_in_words(snapshot, reservation)})."
    if beyond_shares:
        message += f" {counted_are(beyond_shares, 'further free server')} of no use to it: outside its datacenter "
        message += "shares they would cost more than they mend. Other shares would help."
        more["beyond_shares_servers"] = float(beyond_shares)
    servers = snapshot.servers
    leaving = int((servers.leaving & (servers.target == reservation)).sum())
    if leaving:
        message += f" {leaving} of its servers {'is' if leaving == 1 else 'are'} to be retired and not counted."
    numbers = {"short_rru": short_rru, **more, "needed_servers": float(needed), "free_servers": float(free_servers)}
    booked = int((servers.booked & (servers.target < 0) & (rru[servers.hardware_type] > 0)).sum())
    if booked:
        message += f" {counted_are(booked, 'further free server')} booked for reservations that have not begun."
        numbers["booked_servers"] = float(booked)
    return Shortage(
        reason="TooFewFreeServers" if free_servers else "NoFreeServers",
        message=message,
        numbers=numbers,
    )


def best_type(rru: Floats, stock: Ints) -> int:
    """Return the hardware type whose servers in the region have the most RRU in total for a reservation that may use
    some type. `rru` (T,) is the RRU of one server, and `stock` (T,) the number of servers.
    """
    eligible = np.flatnonzero(rru > 0)
    return int(eligible[int((rru * stock)[eligible].argmax())])


def stock_of(snapshot: FleetSnapshot) -> Ints:
    """Return the number of servers of each hardware type in the region, (T,), without servers to be retired."""
    staying = snapshot.servers.hardware_type[~snapshot.servers.leaving]
    return np.bincount(staying, minlength=len(snapshot.hardware_types)).astype(np.int64)
