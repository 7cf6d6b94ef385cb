"""Decide which changes of a plan to commit, so that servers left alone leave no reservation worse off. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Bools, Floats, Indices
from libs.domain.plan_changes import NONE, PlanChanges
from libs.domain.policy import RegionPolicy
from libs.domain.reservation import ROUNDING
from libs.ras.domain_room import DomainRoom

_PENALTY_TOLERANCE = 5e-7
"""Below the tolerance of plan_check, so that the checker accepts every answer."""
Rows = NDArray[np.intp]


class Why(IntEnum):
    """The reason for which a change of a plan is dropped."""

    NOT_DROPPED = 0
    SHORT = 1
    """Without the server, its reservation would end below what it asks for and below the capacity that it had."""
    RETIRING = 2
    """The server will be retired, and the servers that are there do not cover its reservation yet."""
    AFFINITY = 3
    """The changes that remain of a reservation would cost the reservation more than they bring."""
    MSB_SHARE = 5
    """With the server, its new reservation would have more in one MSB than its hard limit allows."""
    DOMAIN_LIMIT = 6
    """With the server, its new reservation would break a hard limit per kind of domain."""
    QUOTA = 4
    """The server would take the owner of its new reservation above its quota."""
    POWER = 7
    """In full, the server would take a domain above its limit on power."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Settled:
    """The decision on the N changes of a plan.

    A change binds one server to another reservation, or frees it. The change is kept, dropped or left alone. It is left
    alone if its server changed during the solve, or is of no use at its destination any more. A reservation is touched
    if it gains or loses a server by a change.

    kept      (N,) bool   whether the change is committed
    because   (N,) int    index of the touched reservation for which the change was dropped; NONE: kept or left alone
    why       (N,) int    the reason of the drop, a Why
    """

    kept: Bools
    because: Indices
    why: Indices


def settle(changes: PlanChanges, policy: RegionPolicy, planned: Floats) -> Settled:
    """Decide which of the changes to commit, so that every reservation is sound.

    A reservation is sound if it does not end below both what it asks for and the capacity that it had. See `_Ledger`
    for the other conditions.

    planned   (Q,) RRU by which the checked plan itself makes each reservation shorter. That is allowed only if the
              policy does not fix first and the sum of all penalties does not grow

    A change is left alone if its server changed during the solve, or is of no use at its destination any more. Other
    changes are dropped until all reservations are sound. Then dropped changes are taken back while all reservations
    stay sound. So no single dropped change could be kept. Each round takes time linear in the number of changes.
    Source: docs/designs/0021-committed-is-checked.md.
    """
    may = ~changes.changed & ((changes.to == NONE) | (changes.to_rru > 0))
    if policy.fix_first:
        return _Ledger(changes, policy, may, np.zeros(len(planned)), strict=True).settle()
    for allowed, strict in ((planned, False), (np.zeros(len(planned)), True)):
        ledger = _Ledger(changes, policy, may, allowed, strict=strict)
        settled = ledger.settle()
        if ledger.grown() <= _PENALTY_TOLERANCE:
            return settled
    nothing = np.zeros(len(changes), bool)
    because = np.where(may, np.where(changes.source == NONE, changes.to, changes.source), NONE)
    return Settled(
        kept=nothing,
        because=because.astype(np.int32),
        why=np.where(may, Why.AFFINITY, Why.NOT_DROPPED).astype(np.int32),
    )


class _Ledger:
    """The loads of all touched reservations while changes are dropped and taken back, one at a time.

    A reservation is sound if four conditions hold. It is not shorter than before, except by `allowed`. In no domain
    does it come above a hard limit, or further above it than before. It lies in no more domains than it may or did. It
    releases leaving servers only if the servers that are present cover it. With `strict`, its penalty is not larger
    than before.

    may      (N,) whether the change may be made
    allowed  (Q,) RRU by which each reservation may become shorter
    strict   whether a larger penalty makes a reservation unsound
    """

    def __init__(
        self, changes: PlanChanges, policy: RegionPolicy, may: Bools, allowed: Floats, *, strict: bool
    ) -> None:
        self.c, self.q, self.policy, self.strict = changes, changes.touched, policy, strict
        Q, N = len(self.q), len(changes)
        self.kept = np.zeros(N, bool)
        self.because, self.why = np.full(N, NONE, np.int32), np.zeros(N, np.int32)
        self.load, self.there = self.q.load.copy(), self.q.load_there.copy()
        self.domain: list[list[int]] = changes.domain.tolist()
        self.lost: list[list[float]] = changes.source_values.tolist()
        self.gained: list[list[float]] = changes.to_values.tolist()
        axis = self.q.axis
        starts = [m * axis.width for m in range(axis.measures)]
        weight = np.ones((Q, 1)) if axis.weight is None else axis.weight
        # of each reservation, for each measure: the columns of the MSBs, those of each kind whose loss the reservation
        # survives, and the factor of penalties
        self.parts: list[list[tuple[slice, list[slice], float]]] = [
            [
                (
                    slice(start, start + axis.msbs),
                    [slice(start + a, start + b) for (a, b), is_lost in zip(axis.spans, row, strict=True) if is_lost],
                    float(factor),
                )
                for start, factor in zip(starts, factors, strict=True)
            ]
            for row, factors in zip(axis.survives, weight, strict=True)
        ]
        self.outgoing, self.incoming = _by_reservation(changes.source, may, Q), _by_reservation(changes.to, may, Q)
        gives_up = changes.leaving & (changes.to == NONE)
        self.given_up = [rows[gives_up[rows]] for rows in self.outgoing]
        rounding = ROUNDING * self.q.capacity_rru + 1e-12
        had = np.array([self._short(self.load, r) for r in range(Q)])
        limit = had + allowed
        self.short_max = np.where(limit > rounding, limit + rounding, rounding)
        unmet = np.array([self._unmet(r) for r in range(Q)])
        self.unmet_max = np.where(unmet > rounding, unmet + rounding, rounding)
        rounding_rru = 1e-6 * np.maximum(1.0, self.q.capacity_rru)
        self.by_msb = self.load[:, : self.q.axis.msbs]  # a view
        self.load_max = np.maximum(self.by_msb, self.q.msb_limit_rru[:, None]) + rounding_rru[:, None]
        self.rooms = [DomainRoom(one, changes.source, changes.to, rounding_rru) for one in changes.limited]
        self.had_penalty = np.array([self._penalty(r) for r in range(Q)])
        for n in np.flatnonzero(may):
            self._enter(int(n), 1.0)

    def settle(self) -> Settled:
        """Drop changes until every reservation is sound, then take back those with which all stay sound."""
        waiting, queued = deque(range(len(self.q))), np.ones(len(self.q), bool)
        dropped: list[int] = []
        while waiting:
            r = waiting.popleft()
            queued[r] = False
            now = self._mend(r)
            dropped += now
            for n in now:
                for s in (int(self.c.source[n]), int(self.c.to[n])):
                    if s not in (NONE, r) and not queued[s]:
                        queued[s] = True
                        waiting.append(s)
        self._take_back(dropped)
        return Settled(kept=self.kept, because=self.because, why=self.why)

    def grown(self) -> float:
        """Return the growth of the sum of all weighted penalties, divided by the larger of 1 and the sum before."""
        weight = self.q.penalty_weight
        now = float(sum(weight[r] * self._penalty(r) for r in range(len(self.q))))
        had = float((weight * self.had_penalty).sum())
        return (now - had) / max(1.0, had)

    def _mend(self, r: int) -> list[int]:
        """Drop changes of reservation `r` until it is sound, and return the dropped changes."""
        dropped: list[int] = []
        if self._gives_up_too_early(r):
            dropped += self._drop(self.given_up[r][self.kept[self.given_up[r]]], r, Why.RETIRING)
        if self._is_crowded(r):
            dropped += self._turn_away(r)
        if self._needs_servers(r):
            dropped += self._keep_servers(r)
        if self._is_crowded(r):
            dropped += self._turn_away(r)
        if self.rooms and self._needs_servers(r):  # it does not move to other domains after all
            dropped += self._keep_servers(r)
        if not self._is_sound(r):  # of the two, only affinity comes here but for rounding
            both = np.append(self.outgoing[r], self.incoming[r])
            dropped += self._drop(both[self.kept[both]], r, Why.AFFINITY)
        return dropped

    def _turn_away(self, r: int) -> list[int]:
        """Drop arrivals in domains where reservation `r` comes above a hard limit, and return the dropped changes."""
        dropped: list[int] = []
        for n in self.incoming[r][::-1]:
            m = self.domain[n][0]
            if self.kept[n] and self.by_msb[r, m] > self.load_max[r, m]:
                dropped += self._drop([int(n)], r, Why.MSB_SHARE)
            elif self.kept[n] and any(room.turns_away(int(n), r) for room in self.rooms):
                dropped += self._drop([int(n)], r, Why.DOMAIN_LIMIT)
        return dropped

    def _keep_servers(self, r: int) -> list[int]:
        """Let reservation `r` keep as many servers as it needs, and return the changes that are dropped for that.

        It keeps servers outside of its fullest domains of the kinds that it survives first. Only such servers raise the
        capacity that survives each loss, until their own domain is the fullest.
        """
        rows = self.outgoing[r]
        rows = rows[self.kept[rows] & (self.c.source_rru[rows] > 0)]
        order = np.argsort([self._hurt(int(n)) for n in rows], kind="stable")
        dropped: list[int] = []
        later: list[int] = []
        for n in rows[order]:
            if not self._needs_servers(r):
                return dropped
            if self._is_in_fullest(int(n), r):
                later.append(int(n))
            else:
                dropped += self._drop([int(n)], r, Why.SHORT)
        for n in later:
            if not self._needs_servers(r):
                return dropped
            dropped += self._drop([n], r, Why.SHORT)
        return dropped

    def _hurt(self, n: int) -> int:
        """Return how much the drop of change `n` hurts its destination.

        0: the change frees its server. 1: the destination has enough capacity without the server. 2: it has not.
        """
        s = int(self.c.to[n])
        if s == NONE:
            return 0
        return 1 if self._left(self.load, s) - self.q.capacity_rru[s] >= self.c.to_rru[n] else 2

    def _is_in_fullest(self, n: int, r: int) -> bool:
        """Return whether the server of change `n` is in the fullest domain of a kind that reservation `r` survives."""
        load = self.load[r]
        return any(
            load[d] == load[span].max()
            for _, spans, _ in self.parts[r]
            for span in spans
            for d in self.domain[n]
            if span.start <= d < span.stop
        )

    def _take_back(self, dropped: list[int]) -> None:
        """Take back each change of `dropped` with which all reservations stay sound, the last dropped change first.

        Repeat until no further change can be taken back.
        """
        taken = True
        while taken:
            taken = False
            for n in reversed([n for n in dropped if not self.kept[n]]):
                self._enter(n, 1.0)
                if all(self._is_sound(int(r)) for r in (self.c.source[n], self.c.to[n]) if r != NONE):
                    self.because[n], self.why[n] = NONE, Why.NOT_DROPPED
                    taken = True
                else:
                    self._enter(n, -1.0)

    def _drop(self, rows: Iterable[int] | Rows, r: int, why: Why) -> list[int]:
        dropped = [int(n) for n in rows]
        for n in dropped:
            self._enter(n, -1.0)
            self.because[n], self.why[n] = r, why
        return dropped

    def _enter(self, n: int, sign: float) -> None:
        """Carry out change `n` if `sign` is 1, or undo it if `sign` is -1."""
        c = self.c
        self.kept[n] = sign > 0
        for room in self.rooms:
            room.enter(n, sign, c.source_rru[n], c.to_rru[n])
        for r, by, values in ((c.source[n], -sign, self.lost[n]), (c.to[n], sign, self.gained[n])):
            if r != NONE:
                for d, rru in zip(self.domain[n], values, strict=True):
                    self.load[r, d] += by * rru
                    if c.current[n] == r:
                        self.there[r, d] += by * rru

    def _is_sound(self, r: int) -> bool:
        bad = self._is_short(r) or self._costs_more(r) or self._gives_up_too_early(r) or self._is_crowded(r)
        return not bad

    def _is_crowded(self, r: int) -> bool:
        return bool((self.by_msb[r] > self.load_max[r]).any()) or any(room.is_crowded(r) for room in self.rooms)

    def _is_short(self, r: int) -> bool:
        return bool(self._short(self.load, r) > self.short_max[r])

    def _needs_servers(self, r: int) -> bool:
        """Return whether reservation `r` is unsound for want of servers: short after its worst loss, or at a larger
        penalty over all losses that it survives.
        """
        return self._is_short(r) or (bool(self._unmet(r) > self.unmet_max[r]) and self._costs_more(r))

    def _costs_more(self, r: int) -> bool:
        had = self.had_penalty[r]
        return bool(self.strict and self._penalty(r) - had > _PENALTY_TOLERANCE * max(1.0, had))

    def _gives_up_too_early(self, r: int) -> bool:
        rows = self.given_up[r]
        return bool(self.kept[rows].any()) and self._short(self.there, r) > _PENALTY_TOLERANCE

    def _short(self, table: Floats, r: int) -> float:
        return max(0.0, float(self.q.capacity_rru[r]) - self._left(table, r))

    def _left(self, table: Floats, r: int) -> float:
        """Return the RRU of reservation `r` that are left after the worst loss that it must survive, in the measure
        with least.
        """
        load, left = table[r], np.inf
        for total, spans, _ in self.parts[r]:
            worst = 0.0
            for span in spans:
                worst = max(worst, float(load[span].max(initial=0.0)))
            left = min(left, float(load[total].sum()) - worst)
        return left

    def _unmet(self, r: int) -> float:
        """Return the RRU of reservation `r` that its penalty counts. See `LossAxis.unmet_rru`."""
        load, capacity_rru, missing = self.load[r], float(self.q.capacity_rru[r]), 0.0
        for total, spans, weight in self.parts[r]:
            held = float(load[total].sum())
            for worst in [float(load[span].max(initial=0.0)) for span in spans] or [0.0]:
                missing += weight * max(0.0, capacity_rru - (held - worst))
        return missing

    def _penalty(self, r: int) -> float:
        """Return the penalty of reservation `r` for its unmet RRU and for RRU outside its affinity bands (ADR 0012)."""
        share, capacity = self.q.affinity_share[r], self.q.capacity_rru[r]
        off = 0.0
        if not np.isnan(share).all():
            found = np.bincount(self.q.msb_datacenter, self.by_msb[r], len(share))
            beyond = np.abs(found - share * capacity) - self.policy.affinity_tolerance * capacity
            off = float(np.maximum(np.nan_to_num(beyond, nan=0.0), 0.0).sum())
        return self.policy.shortfall_cost * self._unmet(r) + self.policy.affinity_cost * off


def _by_reservation(of: Indices, may: Bools, reservations: int) -> list[Rows]:
    """Return for each of Q reservations the changes that may be made and name the reservation in `of`.

    of   (N,) index of a reservation for each change, such as the source of its server; NONE: no reservation
    may  (N,) whether the change may be made
    """
    rows = np.flatnonzero(may & (of != NONE))
    rows = rows[np.argsort(of[rows], kind="stable")]
    return np.split(rows, np.cumsum(np.bincount(of[rows], minlength=reservations))[:-1]) if reservations else []
