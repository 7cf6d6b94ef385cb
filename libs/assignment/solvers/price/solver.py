"""Price and round: find prices by a relaxation, place greedily by net gain, then search locally if needed.

The relaxation is over shapes, which are sets of containers that differ only in free room. If prices do not cover the
full objective, a local search with the full objective follows. This search is called the polish.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from libs.assignment.graph.compiled import Compiled
from libs.assignment.graph.legal_start import made_legal
from libs.assignment.graph.lexicographic import compare
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.problem import Problem
from libs.assignment.solvers.caller import Caller, Cancelled, Listener
from libs.assignment.solvers.claim import claimed
from libs.assignment.solvers.deadline import Deadline
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.local.solver import solve_local
from libs.assignment.solvers.price.availability import Offer, offer_of
from libs.assignment.solvers.price.improvement import improve, raise_shares
from libs.assignment.solvers.price.recognise import Reading, read_market
from libs.assignment.solvers.price.relaxation import prices_of, relax
from libs.assignment.solvers.price.rounding import ORDERS, fill, placed_gain, price_of, rank_at, round_prices
from libs.assignment.solvers.price.settings import Granularity, PriceSettings
from libs.assignment.solvers.price.state import State, start
from libs.assignment.solvers.prices import Prices
from libs.assignment.solvers.result import Outcome, Step
from libs.assignment.solvers.settings import SearchLimits
from libs.assignment.solvers.timeline_record import Record

CLOSE = 1e-9
"""Relative distance to the bound up to which an answer is optimal. Excess of constraints up to CLOSE counts as 0."""
WIDE = 0.01
"""Relative gap to the bound above which a local search follows."""
FEW_TRIES, WORTH_FEW = 20, 0.001
"""Limits of a local search with little to gain.

FEW_TRIES is the number of tries per object, if the search may gain at least the share WORTH_FEW of the value. With less
to gain, the number is proportionally smaller.
"""
POLISHED_MAX = 250_000
"""Most objects for one local search."""


def solve_price(
    problem: Problem,
    limits: SearchLimits | None = None,
    *,
    seed: int = 0,
    progress: Listener | None = None,
    cancelled: Cancelled | None = None,
    settings: PriceSettings | None = None,
    prices: Prices | None = None,
    compiled: Compiled | None = None,
    deadline: Deadline | None = None,
    reading: Reading | None = None,
) -> Outcome:
    """Return a placement that is no worse than the start, with the prices of the relaxation and a bound on each level.

    prices    the prices of an earlier solve, from which the new prices start
    compiled  the compiled problem, if the caller has it already
    deadline  the clock of an enclosing solve; it replaces time_s_max
    reading   the problem read as a market, if the caller has it already

    `tries_max` limits only the local search at the end. Raises: ModelError if no goal rewards placement.
    """
    limits = limits or SearchLimits()
    deadline = deadline or Deadline.after(limits.time_s_max)
    reading = reading or read_market(compiled or Compiled.of(problem))
    caller = Caller(deadline.began, reading.compiled.unit, progress, cancelled)
    run = Run(reading, settings or PriceSettings(), seed, deadline, caller)
    build_s = deadline.elapsed_s
    run.place(prices)
    return run.result(build_s, limits)


class Run:
    """One solve by price-and-round. `place` runs the phases, and `result` makes the outcome."""

    def __init__(
        self, reading: Reading, settings: PriceSettings, seed: int, deadline: Deadline, caller: Caller
    ) -> None:
        self.caller = caller
        market = reading.strict.market
        if settings.granularity is Granularity.GLOBAL:
            market = replace(market, pool=np.zeros_like(market.pool))
        self.reading, self.market, self.settings, self.seed = reading, market, settings, seed
        self.compiled, self.deadline, self.cut = reading.compiled, deadline, False
        self.who: Ints = np.flatnonzero(~market.fixed)
        self.state: State = start(market, seed)
        self.offer: Offer = offer_of(market, self.state, settings.rent)
        self.looked_at = 0
        self.moments: list[tuple[float, int, Ints]] = []

    def place(self, prices: Prices | None) -> None:
        """Find prices, place objects, fill the remaining room, and exchange objects for others with a larger gain.

        Objects are placed in each order of ORDERS, and the better placement is kept. If `rising` of the settings is
        set, exchange also until placed shares rise with priority.
        """
        market, settings = self.market, self.settings
        known = None if prices is None or prices.price.shape != self.offer.supply.shape else prices.price / market.unit
        self.relaxed = price_of(market, self.offer, self.who, settings, known)
        ranking = rank_at(market, self.offer, self.who, self.relaxed)
        empty, best = self.state, -math.inf
        for order in ORDERS:
            if best > -math.inf and self._late():
                break
            tried = round_prices(market, self.offer, empty, ranking, self.relaxed, order, settings)
            if placed_gain(market, tried) > best:
                best, self.state = placed_gain(market, tried), tried
            self._note()
        for _ in range(settings.rounds):
            if self._late() or not fill(market, self.state, self.who, settings):
                break
            self._note()
        if not self._late() and improve(market, self.offer, self.state, ranking, settings):
            fill(market, self.state, self.who, settings)
            self._note()
        if settings.rising and len(market.level) and not self._late():
            raise_shares(market, self.offer, self.state, ranking, settings)
            self._note()

    def result(self, build_s: float, limits: SearchLimits) -> Outcome:
        """Return the outcome with the placement, or with the start if the placement is no better than the start.

        A local search polishes the placement first, if prices do not cover all goals.
        """
        problem, compiled, initial = self.compiled.problem, self.compiled, self.market.initial
        first: Floats = np.array(compiled.values(initial))
        best = made_legal(compiled, np.where(self.state.at >= 0, self.state.at, self.market.outside))
        last: Floats = np.array(compiled.values(best))
        tolerance = CLOSE * np.maximum(np.abs(first), 1.0)
        if compare(last, first, tolerance) >= 0:
            best, last = initial.copy(), first
        record = Record(initial, self.deadline.began)
        record.add(initial, self._levels(first), tries=0, made=0, time_s=0.0)
        for time_s, tries, at in self.moments:
            record.add(at, self._levels(np.array(compiled.values(at))), tries=tries, made=tries, time_s=time_s)
        record.add(best, self._levels(last), tries=self.looked_at, made=self.looked_at)
        bound = self._bound(float(last[0]))
        polishing = self._polish_tries(last, bound, limits)
        notes: tuple[str, ...] = ()
        if self.reading.left_out:
            notes = (f"prices leave out {', '.join(self.reading.left_out)}",)
        if polishing != 0 and not self._late():
            polished = solve_local(
                problem,
                replace(limits, tries_max=polishing),
                seed=self.seed,
                start=best,
                progress=self.caller.relay,
                cancelled=self.caller.cancels,
                compiled=compiled,
                deadline=self.deadline,
                refine=True,
            )
            after = np.array(compiled.values(polished.assignment))
            if compare(after, last, tolerance) < 0:
                best, last = polished.assignment, after
                self._copy(polished.timeline, record)
            self.looked_at += polished.tries
            self._late()
            bound = self._bound(float(last[0])) if last[0] <= CLOSE < first[0] else bound
            notes += ("local search polished the placement",)
        near = last - bound <= CLOSE * np.maximum(np.abs(last), np.abs(bound))
        ended = self._ended(all_met=bool(near.all()))
        kept, stopped_by = claimed(self.compiled, self._levels(last), self._levels(bound), ended, CLOSE)
        moved = int((best != initial).sum())
        return Outcome(
            assignment=best.copy(),
            broken=(self._levels(first)[0], self._levels(last)[0]),
            objective=(tuple(first[1:].tolist()), tuple(last[1:].tolist())),
            improved=moved > 0,
            moved=moved,
            tries=self.looked_at,
            seed=self.seed,
            stopped_by=stopped_by,
            build_s=build_s,
            solve_s=self.deadline.elapsed_s,
            timeline=tuple(record.steps),
            bound=kept,
            prices=prices_of(self.market, self.relaxed),
            solver="price",
            notes=notes,
        ).as_stated(self.compiled.unit)

    def _levels(self, found: Floats) -> tuple[float, ...]:
        """Return the values `found` by level. A level 0 that is only a residue of rounding becomes 0."""
        residue = min(CLOSE, self.compiled.tolerance(0, 0.0))
        return (0.0 if found[0] <= residue else float(found[0]), *map(float, found[1:]))

    def _copy(self, steps: Sequence[Step], record: Record) -> None:
        """Append the steps `steps` of the polish to the timeline `record`."""
        at = self.market.initial.copy()
        for step in steps:
            if step.moved is not None:
                at[step.moved[0]] = step.moved[1]
                record.add(
                    at,
                    tuple(value / by for value, by in zip(step.objective, self.compiled.unit, strict=True)),
                    tries=self.looked_at + step.tries,
                    made=self.looked_at + step.made,
                    time_s=step.time_s,
                )

    def _bound(self, broken: float) -> Floats:
        """Return a lower bound of each level.

        The bound of the priced level follows from the strict market. It follows from the relaxed market, if a
        constraint is broken or if the strict market forbids some assignment that breaks nothing.

        broken  the value of level 0, the sum of broken constraints
        """
        bound: Floats = np.array(self.compiled.least)
        priced, gain = self.reading.strict, self.relaxed.bound
        if not priced.exact or broken > CLOSE:
            if self._late():
                return bound
            priced = self.reading.relaxed
            market = priced.market
            gain = relax(market, offer_of(market, start(market, 0), 0.0), np.flatnonzero(~market.fixed)).bound
        level = self.reading.read.level
        bound[level] = max(bound[level], priced.least(gain))
        return bound

    def _polish_tries(self, last: Floats, bound: Floats, limits: SearchLimits) -> int | None:
        """Return the number of tries for the polish.

        None: no limit on tries, as in `limits`. 0: no polish, because local search has nothing to find.
        """
        level, size = self.reading.read.level, len(self.market.initial)
        if not 0 < size <= POLISHED_MAX or self.settings.rising or not self.settings.polish:
            return 0
        few = min(FEW_TRIES * size, limits.tries_max or FEW_TRIES * size)
        wide = last[level] - bound[level] > WIDE * max(abs(last[level]), CLOSE)
        if not self.reading.left_out and self.reading.strict.exact and last[0] <= CLOSE:
            return few if wide else 0
        others, gain = np.delete(last - bound, level), placed_gain(self.market, self.state)
        if last[level] - bound[level] > 2 * WIDE * abs(gain) or (others > CLOSE).any():
            return limits.tries_max or None
        left_out = (last[level] - self.reading.strict.least(gain)) / (WORTH_FEW * max(abs(gain), CLOSE))
        return max(int(few * min(left_out, 1.0)), min(few, size), 1)  # what is left out may gain without end

    def _note(self) -> None:
        """Record the present placement. Its value is computed at the end, so that the next phase need not wait."""
        self.looked_at += len(self.who)
        found = np.where(self.state.at >= 0, self.state.at, self.market.outside)
        self.moments.append((self.deadline.elapsed_s, self.looked_at, found))
        if self.caller.listens:
            level, strict = self.reading.read.level, self.reading.strict
            bound = strict.least(self.relaxed.bound) if strict.exact else -math.inf
            self.caller.tell(level, self.compiled.values(found)[level], max(bound, self.compiled.least[level]))

    def _late(self) -> bool:
        """Return whether the time is up or the caller has ended the solve. Called between phases."""
        self.cut = self.cut or self.deadline.left_s <= 0 or self.caller.cancelled()
        return self.cut

    def _ended(self, *, all_met: bool) -> StoppedBy:
        if self.caller.cancelled():
            return StoppedBy.CANCELLED
        if self.cut:
            return StoppedBy.TIME
        return StoppedBy.OPTIMAL if all_met else StoppedBy.DONE
