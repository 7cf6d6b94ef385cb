"""Compute the most that survives a loss within the affinity bands and hard limits of one reservation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats, Indices
from libs.domain.domain_kind import DomainLoss
from libs.domain.fleet import FleetSnapshot
from libs.domain.limited_kinds import LimitedKind, limited_kinds
from libs.mip.highs import Limits, solve_lp, solve_mip
from libs.mip.model import Mip
from libs.ras.eligible_rru import most_within

_GAP = 1e-9


def most_within_limits(
    snapshot: FleetSnapshot, reservation: int, wanted: Floats, *, gives: Floats | None = None
) -> float:
    """Return the most RRU of a reservation that survive while every datacenter is within its affinity band and every
    hard limit holds. Return 0 if that is impossible.

        max  sum_c g[c] n[c] - worst    n[c] <= stock[c],   worst >= sum_{c in x} g[c] n[c]   for all x that may be lost
        sum_{c in x} v[c] n[c] <= rru_max[k],   sum_{c in x} n[c] <= servers_max[k]           for all x of limited k
        n[c] <= stock[c] open[x(c)],            sum_x open[x] <= domains_max[k]               open binary
        wanted[d] - theta C  <=  sum_{c in d} v[c] n[c]  <=  wanted[d] + theta C              for all d with an affinity

    A cell c is a set of servers of equal worth v[c] that are in one domain of each kind k that counts. g is v. The
    program allows fractions of servers, but rru_max is that of whole servers in each domain. So a request for more than
    its optimum is impossible.

    wanted    (D,) RRU that each datacenter should hold; nan: the datacenter has no band
    gives     (T,) g of one server of each type, such as a resource, of which the most is returned; None: the RRU
    """
    topology, capacity = snapshot.topology, float(snapshot.reservations.capacity_rru[reservation])
    cells = _cells(snapshot, reservation, snapshot.reservations.rru[reservation] if gives is None else gives)
    m = Mip()
    n = m.add_columns(len(cells.stock), cost=-cells.gives, upper=cells.stock)
    worst = m.add_columns(1, cost=1.0, upper=max(float(cells.stock @ cells.gives), 0.0))
    for loss, of in cells.lost:
        domains = len(loss.domains)
        m.add_rows(domains, (of, n, -cells.gives), (np.arange(domains), worst, 1.0), lower=0.0)
    chooses = False
    for kind, of in cells.limited:
        domains = len(kind.domains)
        if np.isfinite(kind.rru_max[reservation]):
            m.add_rows(domains, (of, n, cells.value), upper=cells.whole_rru(of, domains, kind.rru_max[reservation]))
        if np.isfinite(kind.servers_max[reservation]):
            m.add_rows(domains, (of, n, 1.0), upper=kind.servers_max[reservation])
        if np.isfinite(kind.domains_max[reservation]):
            chooses = True
            is_open = m.add_columns(domains, upper=np.arange(domains) < kind.placed, integer=True)
            each = np.arange(len(n))
            m.add_rows(len(n), (each, n, 1.0), (each, is_open[of], -cells.stock), upper=0.0)
            m.add_rows(1, (0, is_open, 1.0), upper=kind.domains_max[reservation])
    banded = np.flatnonzero(~np.isnan(wanted))
    row_of = np.full(len(wanted), -1)
    row_of[banded] = np.arange(len(banded))
    row = row_of[topology.msb_datacenter[cells.msb]]
    inside = row >= 0
    theta = snapshot.policy.affinity_tolerance * capacity
    given = (row[inside], n[inside], cells.value[inside])
    m.add_rows(len(banded), given, lower=wanted[banded] - theta, upper=wanted[banded] + theta)
    model = m.build()
    found = solve_mip(model, Limits(relative_gap=_GAP)) if chooses else solve_lp(model, "simplex")
    return 0.0 if found.infeasible else -found.objective


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Cells:
    """The servers that one reservation may use, counted by what its limits tell apart.

    msb      (C,) int    the MSB of each cell
    value    (C,) RRU    of one server
    gives    (C,) float  what one server gives of what is to survive
    stock    (C,) float  servers
    lost     the kinds whose loss must be survived, each with the domain (C,) of each cell
    limited  the kinds with a hard limit, likewise
    """

    msb: Indices
    value: Floats
    gives: Floats
    stock: Floats
    lost: list[tuple[DomainLoss, Indices]]
    limited: list[tuple[LimitedKind, Indices]]

    def whole_rru(self, of: Indices, domains: int, limit: float) -> Floats:
        """Return the most RRU (domains,) of whole servers within `limit`. `of` (C,) is the domain of each cell."""
        values, worth = np.unique(self.value, return_inverse=True)
        stock = np.zeros((domains, len(values)), np.int64)
        np.add.at(stock, (of, worth.reshape(-1)), self.stock.astype(np.int64))
        return np.array([most_within(limit, values, row) for row in stock], np.float64)


def _cells(snapshot: FleetSnapshot, reservation: int, gives: Floats) -> _Cells:
    servers, q = snapshot.servers, snapshot.reservations
    losses = [loss for loss in snapshot.losses if loss.survives[reservation]]
    limited = [kind for kind in limited_kinds(snapshot) if is_limited(kind, reservation)]
    worth = q.rru[reservation, servers.hardware_type]
    rows = np.flatnonzero(~servers.leaving & q.allowed[reservation][snapshot.server_datacenter] & (worth > 0))
    pair = np.stack([worth[rows], gives[servers.hardware_type[rows]]], axis=1)
    values, worth_of = np.unique(pair, axis=0, return_inverse=True)
    columns = [snapshot.server_msb, *(loss.of for loss in losses), *(kind.of for kind in limited)]
    places = np.stack([worth_of.reshape(-1), *(of[rows] for of in columns)], axis=1)
    cells, stock = np.unique(places, axis=0, return_counts=True)
    first = 2 + len(losses)
    return _Cells(
        msb=cells[:, 1].astype(np.int32),
        value=values[cells[:, 0], 0],
        gives=values[cells[:, 0], 1],
        stock=stock.astype(np.float64),
        lost=[(loss, cells[:, 2 + k]) for k, loss in enumerate(losses)],
        limited=[(kind, cells[:, first + k]) for k, kind in enumerate(limited)],
    )


def is_limited(kind: LimitedKind, reservation: int) -> bool:
    """Return whether a reservation has a hard limit for a kind of domain."""
    limits = (kind.domains_max, kind.servers_max, kind.rru_max)
    return any(bool(np.isfinite(limit[reservation])) for limit in limits)
