"""Compare what reservations are promised with the servers that are really there, at every change of a server.

The promise in force is the most that the reservation has really held of its promised capacity. A server that was asked
to leave before the promise was made puts nothing in force, though it is still there for some seconds. Failures are
judged only from the moment at which a promise is first kept whole: before, the reservation has no embedded buffer to
bear them.

    hold(h)    = sum_m h[m]                    h[m] RRU that a reservation holds in MSB m
    survive(h) = sum_m h[m] - max_m h[m]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from libs.domain.arrays import Bools, Floats, Ints, Names
from soak.promise.servers import RealServers

REPLACED_S_MAX = 300.0
"""Seconds after its failure for which a server still counts as there: the time that its replacement may take."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Promises:
    """The promises of R reservations.

    name          (R,)      sorted
    capacity_rru  (R,)
    rru           (R, T)    of a server of each hardware type
    survives      (R,)      whether the reservation is to survive the loss of any one MSB
    """

    name: Names
    capacity_rru: Floats
    rru: Floats
    survives: Bools


@dataclass(slots=True)
class Dip:
    """A time in which a reservation was below its promise: from when to when, and its least ratio."""

    reservation: str
    from_s: float
    until_s: float
    ratio: float


@dataclass(slots=True)
class Least:
    """The least ratio of held to promised capacity over all reservations and moments.

    below_s       reservation-seconds with a ratio below 1
    below         reservations whose ratio was below 1
    dips          the times with a ratio below 1, in order of their beginning
    """

    ratio: float = math.inf
    reservation: str = ""
    at_s: float = 0.0
    below_s: float = 0.0
    below: set[str] = field(default_factory=set)
    dips: list[Dip] = field(default_factory=list)
    open: dict[str, Dip] = field(default_factory=dict)
    """Reservation -> its dip that goes on."""

    def note(self, low: Mapping[str, float], at_s: float) -> None:
        """Note the reservations that are below their promise at a moment, with their ratios."""
        for name, dip in list(self.open.items()):
            dip.until_s = at_s
            if name not in low:
                del self.open[name]
        for name, ratio in low.items():
            if name not in self.open:
                self.dips.append(Dip(name, at_s, at_s, ratio))
                self.open[name] = self.dips[-1]
            self.open[name].ratio = min(self.open[name].ratio, ratio)
        self.below |= low.keys()


@dataclass(slots=True, eq=False)
class _Measure:
    """One way to measure: the promise in force of each reservation, (R,), and where it is not kept now."""

    in_force: Floats
    low: Bools
    least: Least = field(default_factory=Least)


class Watcher:
    """Follows the servers and the promises, by four measures.

    moved    *hold*, of all servers in a reservation, up or down: it falls by moves alone
    spread   likewise *survive*, of reservations that are to survive the loss of an MSB
    there    *hold*, of servers that are up or failed within REPLACED_S_MAX; of the same reservations. Moments with more
             than one MSB down do not count
    others   likewise of all other reservations; moments with an MSB down do not count
    """

    def __init__(self, servers: RealServers, msbs: int, promises: Promises) -> None:
        self._servers, self._msbs = servers, msbs
        self.promises = promises
        r = len(promises.name)
        self._measures = {
            name: _Measure(np.zeros(r), np.zeros(r, bool)) for name in ("moved", "spread", "there", "others")
        }
        self.promised_s = np.zeros(r)
        """(R,) when each promise was made, in seconds."""
        self.kept_after_s = np.full(r, math.nan)
        """(R,) seconds from the promise to the moment at which it was first kept."""
        self.longest_wait_s = 0.0
        """The longest of these times, over all promises that were made."""
        self._at_s = 0.0
        self._row_of = np.zeros(0, np.int64)
        self._half_msb = np.bincount(servers.msb, minlength=msbs) / 2

    @property
    def least(self) -> dict[str, Least]:
        """Measure -> its least ratio."""
        return {name: measure.least for name, measure in self._measures.items()}

    def promise(self, promises: Promises, at_s: float) -> None:
        """Replace the promises. A promise in force stays in force, as far as the new promise contains it."""
        self.look(at_s)
        before = self.promises
        row_of = {name: row for row, name in enumerate(before.name)}
        was = np.array([row_of.get(name, -1) for name in promises.name], np.int64)
        known = was >= 0
        same_unit = known.copy()
        same_unit[known] = (before.rru[was[known]] == promises.rru[known]).all(axis=1)
        same = same_unit & (_carried(before.capacity_rru, was) == promises.capacity_rru)
        same &= _carried(before.survives.astype(float), was) == promises.survives
        for measure in self._measures.values():
            kept = np.where(same_unit, _carried(measure.in_force, was), 0.0)
            measure.in_force = np.minimum(kept, promises.capacity_rru)
            measure.low = np.zeros(len(was), bool)
        self.promised_s = np.where(same, _carried(self.promised_s, was), at_s)
        self.kept_after_s = np.where(same, _carried(self.kept_after_s, was), math.nan)
        self.promises, self._row_of = promises, np.zeros(0, np.int64)
        self.look(at_s)

    def look(self, at_s: float) -> None:
        """Measure at one moment."""
        p, s = self.promises, self._servers
        row = self._rows_of_promises()[s.reservation]
        up = s.down == 0
        in_one, is_there = row >= 0, up | (at_s - s.failed_s < REPLACED_S_MAX)
        moved, there = self._held(row, in_one), self._held(row, in_one & is_there)
        moved_stays, there_stays = self._held(row, in_one & ~s.leaving), self._held(row, in_one & is_there & ~s.leaving)
        lost = np.bincount(s.msb[~up], minlength=self._msbs) > self._half_msb
        everyone = np.ones(len(p.name), bool)
        after_loss = _survives(moved)
        kept = np.where(p.survives, after_loss, moved.sum(axis=1)) >= p.capacity_rru * (1 - _ROUNDING)
        for name, level, stays, counts, in_force in (
            ("moved", moved.sum(axis=1), moved_stays.sum(axis=1), everyone, everyone),
            ("spread", after_loss, _survives(moved_stays), p.survives, everyone),
            ("there", there.sum(axis=1), there_stays.sum(axis=1), p.survives & (lost.sum() <= 1), kept),
            ("others", there.sum(axis=1), there_stays.sum(axis=1), ~p.survives & (not lost.any()), kept),
        ):
            self._measure(self._measures[name], level, stays, counts, in_force, at_s)
        first = kept & np.isnan(self.kept_after_s)
        self.kept_after_s[first] = at_s - self.promised_s[first]
        self.longest_wait_s = max(self.longest_wait_s, float(self.kept_after_s[first].max(initial=0.0)))
        self._at_s = max(self._at_s, at_s)

    def _held(self, row: np.ndarray, counted: Bools) -> Floats:
        """Return the RRU that each reservation holds in each MSB, (R, M), of the servers `counted` (S,)."""
        s, shape = self._servers, (len(self.promises.name), self._msbs)
        rows = row[counted]
        worth = self.promises.rru[rows, s.hardware_type[counted]]
        held = np.bincount(rows * self._msbs + s.msb[counted], worth, shape[0] * shape[1])
        return held.astype(float).reshape(shape)

    def _rows_of_promises(self) -> Ints:
        """Return, for each number of a reservation, the row of its promise; -1 without one."""
        number = self._servers.number
        if len(self._row_of) != len(number) + 1:
            numbers = np.array([number.get(str(name), -1) for name in self.promises.name], np.int64)
            self._row_of = np.full(len(number) + 1, -1, np.int64)
            self._row_of[numbers[numbers > 0]] = np.flatnonzero(numbers > 0)
        return self._row_of

    def _measure(
        self, measure: _Measure, level: Floats, stays: Floats, counts: Bools, in_force: Bools, at_s: float
    ) -> None:
        """Compare the levels (R,) with the promises in force.

        stays     (R,) the levels without servers that are asked to leave
        in_force  (R,) where to put in force what stays, before that
        """
        least, names = measure.least, self.promises.name
        least.below_s += max(0.0, at_s - self._at_s) * int(measure.low.sum())
        reached = np.maximum(measure.in_force, np.minimum(stays, self.promises.capacity_rru))
        measure.in_force = np.where(counts & in_force, reached, measure.in_force)
        asked = counts & (measure.in_force > 0)
        ratio = np.divide(level, measure.in_force, out=np.full(len(level), math.inf), where=asked)
        measure.low = ratio < 1 - _ROUNDING
        if least.open or measure.low.any():
            least.note(dict(zip(names[measure.low].tolist(), ratio[measure.low].tolist(), strict=True)), at_s)
        if len(ratio) and ratio.min() < least.ratio:
            worst = int(ratio.argmin())
            least.ratio, least.reservation, least.at_s = float(ratio[worst]), str(names[worst]), at_s


def _survives(held: Floats) -> Floats:
    """Return what is left of the RRU (R, M) in each MSB after the loss of the worst one, (R,)."""
    return np.asarray(held.sum(axis=1) - held.max(axis=1, initial=0.0))


def _carried(values: Floats, was: Ints) -> Floats:
    """Return the values of the rows `was` (R,), and 0 for rows of -1."""
    found = np.zeros(len(was))
    found[was >= 0] = values[was[was >= 0]]
    return found
