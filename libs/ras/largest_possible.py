"""Compute the largest capacity that a region could give one reservation if there were no other reservations."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from libs.domain.domain_kind import MSB_KIND, WorstDomain
from libs.domain.fleet import FleetSnapshot
from libs.domain.reservation import ROUNDING
from libs.ras.eligible_rru import eligible_by_domain, eligible_by_msb, least_held, most_surviving
from libs.ras.most_within_limits import most_within_limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ScarceResource:
    """The resource of which the region could give least, as a share of what the reservation asks for; too little.

    asked, most   units of the resource
    """

    resource: str
    asked: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Potential:
    """The largest possible capacity of one reservation, in its RRU.

    Servers that are down count, because an outage must not cause a refusal. Servers to be retired do not count.

    asked_rru        the capacity that the reservation asks for
    eligible_rru     all servers that the reservation may use, up to its hard limits
    largest_msb_rru  those of these servers that are in the MSB with the most RRU
    worst            the domain of these servers that leaves least if it is lost, of the kinds whose loss must be
                     survived; None: no loss must be
    surviving_rru    eligible_rru, less the RRU in `worst`
    most_rru         the most that survives while each datacenter holds a share within its affinity band, and within all
                     hard limits; 0 if the bands cannot be met
    least_held_rru   the least RRU to hold, wherever, so that asked_rru survives; inf if that is impossible
    scarce           the resource that no state of the region could give, likewise; None: it could give each, on its own
    """

    asked_rru: float
    eligible_rru: float
    largest_msb_rru: float
    worst: WorstDomain | None
    surviving_rru: float
    most_rru: float
    least_held_rru: float
    scarce: ScarceResource | None = None

    def numbers(self) -> dict[str, float]:
        """Return the numbers that a verdict of admission shows, by name."""
        return {
            "asked_rru": self.asked_rru,
            "eligible_rru": self.eligible_rru,
            "largest_msb_rru": self.largest_msb_rru,
            "surviving_rru": self.surviving_rru,
            "most_rru": self.most_rru,
        }


def potential_of(snapshot: FleetSnapshot, reservation: int) -> Potential:
    """Return the potential of the reservation in row `reservation`.

    Without affinity the reservation would hold all servers. One more server never lowers the capacity that survives a
    loss.
    """
    q, rows = snapshot.reservations, np.array([reservation], np.int32)
    by_msb, share = eligible_by_msb(snapshot, rows)[0], q.affinity_share[reservation]
    asked = float(q.capacity_rru[reservation])
    loads = [
        (loss, by_msb if loss.kind == MSB_KIND else eligible_by_domain(snapshot, rows, loss)[0])
        for loss in snapshot.losses
        if loss.survives[reservation]
    ]
    left = [float(load.sum() - load.max(initial=0.0)) for _, load in loads]
    most = surviving = min(left, default=float(by_msb.sum()))
    is_limited = bool(np.isfinite(q.msb_limit_rru[reservation])) and any(loss.kind != MSB_KIND for loss, _ in loads)
    is_limited |= bool(q.limits_domains[reservation])
    if by_msb.size and (is_limited or not np.isnan(share).all()):
        most = min(surviving, most_within_limits(snapshot, reservation, share * asked))
        most = most if most > ROUNDING * asked else 0.0  # the residue of a linear program is no capacity
    worst = None
    if loads:
        loss, load = loads[int(np.argmin(left))]
        domain = str(loss.domains[int(load.argmax())]) if load.size else ""
        worst = WorstDomain(kind=loss.kind, domain=domain, rru=float(load.max(initial=0.0)))
    return Potential(
        asked_rru=asked,
        eligible_rru=float(by_msb.sum()),
        largest_msb_rru=float(by_msb.max(initial=0.0)),
        worst=worst,
        surviving_rru=surviving,
        most_rru=most,
        least_held_rru=max((least_held(load, asked) for _, load in loads), default=asked),
        scarce=_scarce(snapshot, reservation, within=most >= asked * (1 - ROUNDING)),
    )


def _scarce(snapshot: FleetSnapshot, reservation: int, *, within: bool) -> ScarceResource | None:
    """Return the resource that lacks most if a reservation had all servers that it may use; None: none lacks.

    within   whether only within its affinity bands and hard limits
    """
    q, rows, found = snapshot.reservations, np.array([reservation], np.int32), None
    least = float(q.enough_rru[reservation])
    free = replace(q, msb_share_max=np.full(len(q), np.inf), domain_limits=np.full_like(q.domain_limits, np.inf))
    share = q.affinity_share[reservation]
    is_limited = within and bool(np.isfinite(q.msb_limit_rru[reservation]) or q.limits_domains[reservation])
    is_limited |= within and not np.isnan(share).all()
    for one in (one for one in snapshot.measures[1:] if one.asks[reservation]):
        worth = one.share_rru(q.rru)
        most = float(most_surviving(replace(snapshot, reservations=replace(free, rru=worth)), rows)[0])
        if is_limited:
            wanted = share * float(q.capacity_rru[reservation])
            most = min(most, most_within_limits(snapshot, reservation, wanted, gives=worth[reservation]))
        if most < least:
            least, unit = most, float(one.share[reservation] * one.worth[reservation])
            asked = float(q.capacity_rru[reservation]) / unit
            found = ScarceResource(resource=str(one.resource), asked=asked, most=most / unit)
    return found
