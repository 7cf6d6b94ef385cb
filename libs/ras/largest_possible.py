"""Compute the largest capacity that a region could give one reservation if there were no other reservations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats, Indices
from libs.domain.domain_kind import MSB_KIND, WorstDomain
from libs.domain.fleet import FleetSnapshot
from libs.mip.highs import solve_lp
from libs.mip.model import Mip
from libs.ras.eligible_rru import eligible_by_domain, eligible_by_msb, least_held


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
    most_rru         the most that survives while each datacenter holds a share within its affinity band; 0 if the bands
                     cannot be met
    least_held_rru   the least RRU to hold, wherever, so that asked_rru survives; inf if that is impossible
    """

    asked_rru: float
    eligible_rru: float
    largest_msb_rru: float
    worst: WorstDomain | None
    surviving_rru: float
    most_rru: float
    least_held_rru: float

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
    if by_msb.size and (is_limited or not np.isnan(share).all()):
        most = min(surviving, _most_within_bands(snapshot, reservation, by_msb, share * asked))
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
    )


def _most_within_bands(snapshot: FleetSnapshot, reservation: int, by_msb: Floats, wanted: Floats) -> float:
    """Return the most RRU that survive while every datacenter is within its affinity band.

    Return 0 if the bands cannot be met.

        max  sum_c x[c] - worst     x[c] <= stock[c],   worst >= sum_{c in n} x[c]    for all domains n that may be lost
        sum_{c in m} x[c] <= by_msb[m]                                                for all MSBs m
        wanted[d] - theta C  <=  sum_{c in d} x[c]  <=  wanted[d] + theta C           for all d with an affinity

    A cell c is a set of servers in one MSB, and in one domain of each further kind whose loss must be survived.
    The program allows fractions of servers. So a request for more than its optimum is impossible.

    by_msb    (M,) RRU of the servers of each MSB, up to the hard limit
    wanted    (D,) RRU that each datacenter should hold; nan: the datacenter has no band
    """
    topology, capacity = snapshot.topology, float(snapshot.reservations.capacity_rru[reservation])
    msb, stock, lost = _cells(snapshot, reservation, by_msb)
    m = Mip()
    x = m.add_columns(len(stock), cost=-1.0, upper=stock)
    worst = m.add_columns(1, cost=1.0, upper=max(float(stock.sum()), 0.0))
    for domains, of in lost:
        m.add_rows(domains, (of, x, -1.0), (np.arange(domains), worst, 1.0), lower=0.0)
    m.add_rows(len(by_msb), (msb, x, 1.0), upper=by_msb)
    banded = np.flatnonzero(~np.isnan(wanted))
    row_of = np.full(len(wanted), -1)
    row_of[banded] = np.arange(len(banded))
    row = row_of[topology.msb_datacenter[msb]]
    inside = row >= 0
    theta = snapshot.policy.affinity_tolerance * capacity
    m.add_rows(len(banded), (row[inside], x[inside], 1.0), lower=wanted[banded] - theta, upper=wanted[banded] + theta)
    found = solve_lp(m.build(), "simplex")
    return 0.0 if found.infeasible else -found.objective


def _cells(
    snapshot: FleetSnapshot, reservation: int, by_msb: Floats
) -> tuple[Indices, Floats, list[tuple[int, Indices]]]:
    """Return the MSB (C,) and the RRU (C,) of each cell. Also return, for each kind whose loss must be survived, the
    number of its domains and the domain (C,) of each cell.
    """
    losses = [loss for loss in snapshot.losses if loss.survives[reservation]]
    if all(loss.kind == MSB_KIND for loss in losses):
        msb = np.arange(len(by_msb), dtype=np.int32)
        return msb, by_msb, [(len(by_msb), msb)] if losses else []
    servers, q = snapshot.servers, snapshot.reservations
    allowed = q.allowed[reservation][snapshot.server_datacenter]
    rows = np.flatnonzero(~servers.leaving & allowed & (q.rru[reservation, servers.hardware_type] > 0))
    places = np.stack([snapshot.server_msb[rows], *(loss.of[rows] for loss in losses)], axis=1)
    cells, of = np.unique(places, axis=0, return_inverse=True)
    value = q.rru[reservation, servers.hardware_type[rows]]
    stock = np.bincount(of.reshape(-1), value, len(cells)).astype(np.float64, copy=False)
    return cells[:, 0], stock, [(len(loss.domains), cells[:, k]) for k, loss in enumerate(losses, start=1)]
