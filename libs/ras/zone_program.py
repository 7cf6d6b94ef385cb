"""State the choice of domains of all reservations with a `domains_max` as a program (docs/designs/0054).

    min  sum_{r,k} price[r] lack[r,k] + sum_{r,d} price[r] off[r,d] + WORSE sum_r worse[r] + sum_{r,c} cost[r,c] n[r,c]
    lack[r,k] >= C[r] - sum_c V[r,c] n[r,c] + lost[r,k],  lost[r,k] >= sum_{c in x} V[r,c] n[r,c]  for all x of kind k
    off[r,d] >= |sum_{c in d} V[r,c] n[r,c] - A[r,d] C[r]| - theta C[r],  worse[r] >= penalty of r - its present one
    sum_r n[r,c] <= stock[c],  sum_{c in x} n[r,c] <= most[r,x] open[r,x],  sum_x open[r,x] <= domains_max[r]
    sum_{c in x} n[r,c] <= servers_max[r],  sum_{c in x} V[r,c] n[r,c] <= rru_max[r]
    sum_{r,c in x} W[c] n[r,c] <= room[x]

A cell c is a set of servers that are alike in all that the program tells apart. W are the watts that a new server adds,
and the room is that below a limit on power. In a small region all reservations take part, and servers are whole. In a
larger one only those with a `domains_max` do. The servers of others then cost a move, and fractions are allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices, Ints
from libs.domain.fleet import FleetSnapshot
from libs.domain.limited_kinds import LimitedKind, limited_kinds
from libs.domain.power_balance import W_PER_KW
from libs.domain.power_use import gains_w, room_w, tight_kinds
from libs.mip.model import Mip, Model
from libs.ras.evaluate import Coverage, coverage_of

WHOLE_MAX = 500
"""Most pairs of a reservation and a cell of a program with whole servers."""
FEW = 3
"""Domains to choose again at a time, beside those of the reservation that lacks something."""
WORSE = 10.0
"""Price of what a reservation would lack beyond its present lack, as a multiple of the highest price of a lack. No plan
takes what was granted.
"""
TIE = 1e-3
"""Factor on the costs of moves if the policy puts penalties before all costs."""
ROUNDING = 1e-6


def _limiting(snapshot: FleetSnapshot, some: Indices) -> list[LimitedKind]:
    """Return the kinds for which one of the reservations `some` (Q,) has a hard limit."""
    limits = ("domains_max", "servers_max", "rru_max")
    return [
        kind for kind in limited_kinds(snapshot) if any(np.isfinite(getattr(kind, of)[some]).any() for of in limits)
    ]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """C cells, and the P pairs of a cell and one of Q reservations that may use it.

    stock        (C,)  servers
    server       (C,)  one of them
    leaving      (C,)  cost for each server that leaves its reservation
    ours         (C,)  whether one of the Q reservations holds the cell
    reservation  (P,)  position among the Q reservations
    cell         (P,)
    own          (P,)  whether the reservation holds the cell
    """

    stock: Floats
    server: Indices
    leaving: Floats
    ours: Bools
    reservation: Indices
    cell: Indices
    own: Bools

    @classmethod
    def of(cls, snapshot: FleetSnapshot, some: Indices, usable: Callable[[int], Bools], held: Indices) -> Cells:
        """Return the cells of the servers that the reservations `some` (Q,) may use. Others as in `choose_together`."""
        servers, mine = snapshot.servers, [np.flatnonzero(usable(r)).astype(np.int32) for r in some.tolist()]
        position = np.full(len(snapshot.reservations) + 2, -1)  # FREE and DELETED count from the end
        position[some] = np.arange(len(some))
        holder, leaving = position[held], np.where(held >= 0, snapshot.leaving_cost, 0.0)
        told_apart = [servers.hardware_type, snapshot.server_datacenter, servers.pinned, holder, leaving]
        told_apart += [kind.of for kind in _limiting(snapshot, some)]
        told_apart += [loss.of for loss in snapshot.losses if loss.survives[some].any()]
        told_apart += [gains_w(snapshot), *(fed.of for fed in tight_kinds(snapshot))]
        rows = np.unique(np.concatenate(mine))
        label = np.zeros(len(rows), np.int64)
        for one in told_apart:
            values, of = np.unique(one[rows], return_inverse=True)
            _, label = np.unique(label * len(values) + of, return_inverse=True)
        _, first, stock = np.unique(label, return_index=True, return_counts=True)
        cell_of = np.full(len(held), -1)
        cell_of[rows] = label
        cells = [np.unique(cell_of[of]) for of in mine]
        server, cell = rows[first], np.concatenate(cells)
        reservation = np.repeat(np.arange(len(some), dtype=np.int32), [len(of) for of in cells])
        return cls(
            stock=stock.astype(np.float64),
            server=server,
            leaving=leaving[server],
            ours=holder[server] >= 0,
            reservation=reservation,
            cell=cell,
            own=holder[server][cell] == reservation,
        )


class ZoneProgram:
    """The program, with the indices of its columns.

    n          (P,)  servers of the pairs of a reservation and a cell
    lack             what reservations lack
    penalties        what reservations lack, or have outside of their affinity bands
    open             of each kind, the columns (L, N) of the L reservations that have a limit for it
    """

    def __init__(
        self,
        snapshot: FleetSnapshot,
        kinds: Sequence[LimitedKind],
        some: Indices,
        cells: Cells,
        held: Indices,
    ) -> None:
        self.snapshot, self.kinds, self.some, self.cells, self.mip = snapshot, kinds, some, cells, Mip()
        m = self.mip
        self.whole = len(cells.cell) <= WHOLE_MAX
        # a server that its reservation keeps saves the cost of leaving
        leaving = np.where(cells.own, -1.0, ~cells.ours[cells.cell]) * cells.leaving[cells.cell]
        self.n = m.add_columns(
            len(cells.cell),
            cost=leaving * (TIE if snapshot.policy.fix_first else 1.0),
            upper=cells.stock[cells.cell],
            integer=self.whole,
        )
        m.add_rows(len(cells.stock), (cells.cell, self.n, 1.0), upper=cells.stock)
        self._penalties: list[tuple[Ints, Ints, Floats]] = []
        self._rounded, most = np.zeros(len(some)), np.zeros(len(some))
        for q in range(len(some)):
            most[q] = self._ask(q)
        self.lack = np.concatenate([column for column, _, _ in self._penalties])
        self._lacks = np.concatenate([line for _, line, _ in self._penalties])
        self._share()
        self._keep(coverage_of(snapshot, held))
        self._limited = [np.flatnonzero(np.isfinite(kind.domains_max[some])) for kind in kinds]
        self.open = [self._choose(kind, which, most) for kind, which in zip(kinds, self._limited, strict=True)]
        self._of_open = [some[which] for which in self._limited]
        for kind in _limiting(snapshot, some):
            self._limit(kind)
        self._feed()
        self.model = m.build()

    def _priced(self, line: Ints, cost: float) -> Ints:
        """Add columns of RRU (k,) of the reservations `line` (k,), each at `cost` and its weight."""
        price = cost * self.snapshot.penalty_weight[self.some[line]]
        found = self.mip.add_columns(len(line), cost=price)
        self._penalties.append((found, line, price))
        return found

    def _ask(self, q: int) -> float:
        """Add the rows of what reservation `q` lacks in each measure, after each loss that it survives.

        Return the most servers that it needs in one domain.
        """
        m, snapshot, r, cells = self.mip, self.snapshot, int(self.some[q]), self.cells
        mine = np.flatnonzero(cells.reservation == q)
        at = cells.server[cells.cell[mine]]
        losses = [np.unique(loss.of[at], return_inverse=True)[1] for loss in snapshot.losses if loss.survives[r]]
        most = 0.0
        for one in snapshot.measures_of(r):
            gives, capacity = one.rru[0, snapshot.servers.hardware_type[at]], float(one.capacity[0])
            if (values := np.unique(gives[gives > 0])).size:
                servers = math.ceil(capacity / values[0] - ROUNDING)
                most = max(most, servers * (2.0 if losses else 1.0))
                if len(values) == 1 and not self.whole:  # like servers are counted whole
                    beyond = max(servers * float(values[0]) - capacity, 0.0)
                    capacity += beyond
                    self._rounded[q] += beyond * max(len(losses), 1)
            lack = self._priced(np.full(max(len(losses), 1), q), snapshot.policy.shortfall_cost)
            lost = m.add_columns(len(lack))
            for column, of in zip(lost.tolist(), losses, strict=False):  # without losses the column is 0
                domains = int(of.max(initial=-1)) + 1
                m.add_rows(domains, (of, self.n[mine], -gives), (np.arange(domains), column, 1.0), lower=0.0)
            for k in range(len(lack)):
                m.add_rows(1, (0, self.n[mine], gives), (0, lost[k], -1.0), (0, lack[k], 1.0), lower=capacity)
        return most

    def _share(self) -> None:
        """Add the rows of the RRU outside of affinity bands."""
        cells, snapshot, r = self.cells, self.snapshot, self.some[self.cells.reservation]
        q, server = snapshot.reservations, cells.server[cells.cell]
        wanted = q.affinity_share[self.some]
        line, datacenter = np.nonzero(~np.isnan(wanted))
        row_of = np.full(wanted.shape, -1)
        row_of[line, datacenter] = np.arange(len(line))
        row = row_of[cells.reservation, snapshot.server_datacenter[server]]
        inside, each = row >= 0, np.arange(len(line))
        given = q.rru[r, snapshot.servers.hardware_type[server]][inside]
        capacity = q.capacity_rru[self.some[line]]
        off = self._priced(line, snapshot.policy.affinity_cost)
        for sign in (1.0, -1.0):
            least = (sign * wanted[line, datacenter] - snapshot.policy.affinity_tolerance) * capacity
            held = (row[inside], self.n[inside], sign * given)
            self.mip.add_rows(len(line), held, (each, off, 1.0), lower=least)

    def _keep(self, present: Coverage) -> None:
        """Add a much higher price on what the penalty of a reservation exceeds its `present` one by."""
        policy, weight = self.snapshot.policy, self.snapshot.penalty_weight[self.some]
        unit = np.maximum(max(policy.shortfall_cost, policy.affinity_cost) * weight, ROUNDING)
        short, off = present.unmet[self.some] + self._rounded, present.off_affinity[self.some].sum(1)
        most = weight * (policy.shortfall_cost * short + policy.affinity_cost * off) / unit
        column, line, price = (np.concatenate(of) for of in zip(*self._penalties, strict=True))
        worse = self.mip.add_columns(len(most), cost=WORSE * max(float(unit.max(initial=0.0)), 1.0))
        each = np.arange(len(most))
        self.mip.add_rows(len(most), (line, column, price / unit[line]), (each, worse, -1.0), upper=most)
        self.penalties = np.append(column, worse)

    def _choose(self, kind: LimitedKind, which: Ints, most: Floats) -> Ints:
        """Add the choice of domains of a kind for the reservations `which` (L,). Return its columns (L, N).

        most  (Q,) servers that a reservation needs in one domain at most
        """
        m, cells, domains = self.mip, self.cells, len(kind.domains)
        line = np.full(len(self.some), -1)
        line[which] = np.arange(len(which))
        pair = np.flatnonzero(line[cells.reservation] >= 0)
        cell = cells.cell[pair]
        of, pairs = line[cells.reservation[pair]] * domains + kind.of[cells.server[cell]], len(which) * domains
        has = np.bincount(of, cells.stock[cell] * cells.own[pair], pairs)
        room = np.minimum(np.bincount(of, cells.stock[cell], pairs), np.maximum(has, np.repeat(most[which], domains)))
        is_open = m.add_columns(pairs, upper=np.arange(pairs) % domains < kind.placed, integer=True)
        each = np.arange(pairs)
        m.add_rows(pairs, (of, self.n[pair], 1.0), (each, is_open, -room), upper=0.0)
        m.add_rows(len(which), (each // domains, is_open, 1.0), upper=kind.domains_max[self.some[which]])
        return is_open.reshape(len(which), domains)

    def _limit(self, kind: LimitedKind) -> None:
        """Add the rows of the most servers and the most RRU in one domain of a kind."""
        cells, domains, r = self.cells, len(kind.domains), self.some[self.cells.reservation]
        server = cells.server[cells.cell]
        of = cells.reservation * domains + kind.of[server]
        rru = self.snapshot.reservations.rru[r, self.snapshot.servers.hardware_type[server]]
        for weight, most in ((np.ones(len(r)), kind.servers_max), (rru, kind.rru_max)):
            if np.isfinite(most[self.some]).any():
                upper = np.repeat(most[self.some], domains)
                self.mip.add_rows(len(upper), (of, self.n, weight), upper=upper)

    def _feed(self) -> None:
        """Add the rows of the limits on power."""
        server, gains, room = self.cells.server[self.cells.cell], gains_w(self.snapshot), room_w(self.snapshot)
        for fed in tight_kinds(self.snapshot):
            inside = np.flatnonzero(fed.of[server] >= 0)
            watts = (fed.of[server[inside]], self.n[inside], gains[server[inside]] / W_PER_KW)
            self.mip.add_rows(len(fed.rows), watts, upper=np.maximum(room[fed.rows], 0.0) / W_PER_KW)

    def fixed(self, known: Sequence[Bools], stay: Bools) -> Model:
        """Return the program in which the reservations `stay` (R,) have the domains `known`."""
        lower, upper = self.model.lower.copy(), self.model.upper.copy()
        for is_open, of, may in zip(self.open, self._of_open, known, strict=True):
            lower[is_open[stay[of]]] = upper[is_open[stay[of]]] = may[of[stay[of]]]
        return replace(self.model, lower=lower, upper=upper)

    def around(self, model: Model, x: Floats, hopeless: Bools, rng: np.random.Generator) -> Model | None:
        """Return `model` in which only a few domains of one kind may be chosen again, and only reservations there or
        without something may move. Their domains of other kinds are free. All others stay as at the point `x` (C,).
        None: no reservation but those `hopeless` (R,) lacks something.
        """
        lacks = (np.bincount(self._lacks, x[self.lack], len(self.some)) > ROUNDING) & ~hopeless[self.some]
        kinds = [k for k, line in enumerate(self._limited) if lacks[line].any()]
        if not kinds:
            return None
        k = int(rng.choice(kinds))
        line, is_open = self._limited[k], self.open[k]
        short = rng.choice(np.flatnonzero(lacks[line]))
        chosen = rng.permutation(self.kinds[k].placed)[:FEW]
        chosen = np.union1d(chosen, np.flatnonzero(x[is_open[short]] > 0.5))
        moves: Bools = np.asarray((x[is_open[:, chosen]] > 0.5).any(1))
        moves[short] = True
        free = np.zeros(len(x), bool)
        may = np.zeros(len(self.some), bool)
        may[line[moves]] = True
        for of, columns in zip(self._limited, self.open, strict=True):
            free[columns[may[of]]] = True
        free[is_open] = False
        free[is_open[np.ix_(moves, chosen)]] = True
        free[self.n[may[self.cells.reservation]]] = True
        held = np.concatenate([self.n, *(of.ravel() for of in self.open)])
        held = held[~free[held]]
        now = np.clip(np.where(model.integer, np.rint(x), x), model.lower, model.upper)
        lower, upper = model.lower.copy(), model.upper.copy()
        lower[held] = upper[held] = now[held]
        return replace(model, lower=lower, upper=upper)

    def penalty(self, x: Floats) -> float:
        """Return the penalties at a point (C,)."""
        return float((self.model.cost * x)[self.penalties].sum())

    def chosen(self, x: Floats, known: Sequence[Bools]) -> Sequence[Bools]:
        """Return the domains (R, N) of each kind at a point (C,), as many as each reservation may have. Those `known`
        fill them up, and are the domains of all others.
        """
        chosen = [may.copy() for may in known]
        for kind, is_open, of, may in zip(self.kinds, self.open, self._of_open, chosen, strict=True):
            first = np.argsort(-2.0 * (x[is_open] > 0.5) - may[of], axis=1, kind="stable")
            rank = np.argsort(first, axis=1)
            may[of] = (may[of] | (x[is_open] > 0.5)) & (rank < kind.domains_max[of][:, None])
        return chosen
