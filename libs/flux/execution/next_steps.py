"""Decide what an execution does next (Flux, 3.5). Pure and total: the same input gives the same decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice

import numpy as np

from libs.domain.arrays import Bools, Floats, Ints
from libs.domain.execution_plan import Phase
from libs.domain.execution_progress import PHASE_CODE, ActionProgress, ExecutionGraph, Progress, changed
from libs.domain.freeze import NO_FREEZES, Calendar
from libs.domain.gate import GateMode, GateReading, Verdict
from libs.domain.plan_execution import FINAL, IN_FLIGHT, SETTLED, ActionState, ExecutionState, Terms
from libs.flux.execution.freezes import frozen_actions
from libs.flux.execution.gates import GOOD, GateStand, gates_of, stand_of
from libs.plan_check.execution_room import fitting_starts

Readings = Mapping[int, Sequence[GateReading]]
_UPSIZE, _SHIFT, _DOWNSIZE, _SETTLED_NODE, _GROW = (PHASE_CODE[p] for p in Phase)
_QUIET = {
    ExecutionState.PAUSING: ExecutionState.PAUSED,
    ExecutionState.ABORTING: ExecutionState.ABORTED,
    ExecutionState.SUPERSEDING: ExecutionState.SUPERSEDED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """The writes, requests and measurements of one tick.

    state     the next state of the execution
    changes   actions that change
    ask       positions of the actions in flight, after the changes, that another system is to be asked about
    measure   positions of the actions whose gates are to be read
    reverses  True: nothing is in flight, so the execution that takes this one back may begin
    """

    state: ExecutionState
    changes: tuple[ActionProgress, ...] = ()
    ask: tuple[int, ...] = ()
    measure: tuple[int, ...] = ()
    reverses: bool = False


def next_steps(
    graph: ExecutionGraph,
    state: ExecutionState,
    progress: Progress,
    readings: Readings,
    terms: Terms,
    now_s: float,
    calendar: Calendar = NO_FREEZES,
) -> Decisions:
    """Return the decisions of one tick.

    readings   position -> the readings of its gates
    calendar   freezes: what they hold does not begin, and a shift stays at the fraction that it has reached

    An action starts when the actions that it waits for are done and its approval is there. Its gates must be good, and
    its pool must have room in every order in which running actions end. One that waits, fails or is held stops only
    the actions that need it.
    """
    if state in FINAL or state is ExecutionState.DRAFT:
        return Decisions(state=state)
    tick = _Tick(graph, progress, readings, terms, now_s, frozen_actions(graph, progress, calendar, now_s).held)
    changes = tick.changes() if state is ExecutionState.RUNNING else ()
    after = changed(progress, changes)
    in_flight = after.is_in(*IN_FLIGHT)
    ask = np.flatnonzero(in_flight & (after.again_s <= now_s))
    if not in_flight.any():
        is_over = state is ExecutionState.RUNNING and bool(after.is_in(*SETTLED).all())
        reverses = state is ExecutionState.REVERSING
        state = ExecutionState.DONE if is_over else _QUIET.get(state, state)
        return Decisions(state=state, changes=changes, measure=tuple(tick.measure), reverses=reverses)
    return Decisions(state=state, changes=changes, ask=tuple(ask.tolist()), measure=tuple(tick.measure))


class _Tick:
    """The decisions about the actions of a running execution."""

    def __init__(
        self,
        graph: ExecutionGraph,
        progress: Progress,
        readings: Readings,
        terms: Terms,
        now_s: float,
        frozen: Bools,
    ) -> None:
        self.graph, self.progress, self.readings, self.terms, self.now_s = graph, progress, readings, terms, now_s
        self.frozen = frozen
        self.measure: list[int] = []
        self.caps = capacity_shares(graph, progress)

    def changes(self) -> tuple[ActionProgress, ...]:
        graph, progress = self.graph, self.progress
        skipped = _without_basis(graph, progress)
        rows = np.flatnonzero(skipped).tolist()
        found = [self._to(progress.row(i), ActionState.SKIPPED, note="NeedsSkipped") for i in rows]
        active = progress.is_in(ActionState.BAKING, ActionState.HELD) & ~progress.paused
        shifts = active & (graph.phase == _SHIFT)
        found += [new for i in np.flatnonzero(shifts).tolist() if (new := self._go_on(i)) is not None]
        ready = ready_actions(graph, progress) & ~skipped
        nodes = ready & (graph.phase == _SETTLED_NODE)
        found += [self._to(progress.row(i), ActionState.DONE) for i in np.flatnonzero(nodes).tolist()]
        due = ready & ~nodes & ~self.frozen & (progress.again_s <= self.now_s)
        due &= (graph.phase != _DOWNSIZE) | (bakes_until(graph, progress, self.terms) <= self.now_s)
        first = np.flatnonzero(due)
        first = first[np.argsort(graph.phase[first], kind="stable")]  # upsizes first: growth of traffic may come
        fits = first[fitting_starts(graph, progress, first)]
        most = self._most_starts(found)
        starts = list(islice((i for i in fits.tolist() if self._opens(i, found)), most))
        return (*found, *(self._start(i) for i in starts))

    def _most_starts(self, found: list[ActionProgress]) -> int:
        """Return how many actions may begin, after those that go on in this tick."""
        running = int(self.progress.is_in(*IN_FLIGHT).sum()) + sum(row.state in IN_FLIGHT for row in found)
        return max(0, self.terms.in_flight_max - running)

    def _opens(self, position: int, found: list[ActionProgress]) -> bool:
        """Return whether the gates before an action are good. If they are not, hold it: add that to `found`."""
        if self.graph.phase[position] == _SHIFT:
            return True
        row, stand = self.progress.row(position), self._stand(position)
        if stand.verdict is not Verdict.GOOD and (new := self._held(row, stand)) is not None:
            found.append(new)
        return stand.verdict is Verdict.GOOD

    def _start(self, position: int) -> ActionProgress:
        row = self.progress.row(position)
        asked = self._next_fraction(row) if self.graph.phase[position] == _SHIFT else 1.0
        if asked is None:
            return self._to(row, ActionState.HELD, note="CapacityNotThere")
        if self.graph.phase[position] == _DOWNSIZE and self.caps[position] < 1.0:
            before, after = float(self.graph.before[position]), float(self.graph.after[position])
            row = replace(row, size=max(row.size, before - float(self.caps[position]) * (before - after)))
        return self._ask(row, asked)

    def _go_on(self, position: int) -> ActionProgress | None:
        """Return the next state of a shift that bakes or is held; None if it stays."""
        row = self.progress.row(position)
        if not row.begun:
            return None
        stand, automatic = self._stand(position), not row.person
        if stand.verdict is Verdict.BAD:
            if stand.mode is GateMode.REVERSE and automatic:
                return reversing(row, _hold_note(stand), self.now_s)
            return self._held(row, stand)
        if row.state is ActionState.BAKING and self.now_s < row.since_s + self.terms.bake_s:
            return None
        if stand.verdict is Verdict.UNKNOWN:
            is_late = row.state is ActionState.HELD and self.now_s - row.since_s > stand.unknown_s_max
            if is_late and stand.then is GateMode.REVERSE and automatic:
                return reversing(row, _hold_note(stand), self.now_s)
            return self._held(row, stand)
        is_certain = row.asked >= row.reached
        if row.reached >= 1.0 and is_certain:
            return self._to(row, ActionState.DONE)
        if self.frozen[position]:
            return None
        if not is_certain:  # its way back failed, and it may have moved less than `reached`
            return self._ask(row, row.reached)
        asked = self._next_fraction(row)
        if asked is not None:
            return self._ask(row, asked)
        return None if row.state is ActionState.HELD else self._to(row, ActionState.HELD, note="CapacityNotThere")

    def _stand(self, position: int) -> GateStand:
        """Return where the gates of an action stand. A person may have overridden them at the present fraction."""
        row = self.progress.row(position)
        gates = gates_of(self.terms.gates, self.graph.actions[position])
        if not gates:
            return GOOD
        self.measure.append(position)
        if row.overridden == row.reached:
            return GOOD
        since, now = _moment(row.again_s), _moment(self.now_s)
        return stand_of(gates, self.readings.get(position, ()), since=since, now=now)

    def _next_fraction(self, row: ActionProgress) -> float | None:
        """Return the next fraction of a shift; None if the capacity for more is not there."""
        cap = float(self.caps[row.position])
        after = [min(f, cap) for f in self.terms.fractions if f > row.reached + 1e-9]
        found = after[0] if after else 1.0
        return found if found > row.reached + 1e-9 else None

    def _held(self, row: ActionProgress, stand: GateStand) -> ActionProgress | None:
        """Return the action, held by its gates; None if it is held and its note says why already."""
        note = _hold_note(stand)
        if row.state is not ActionState.HELD:
            return self._to(row, ActionState.HELD, note=note)
        return None if row.note == note else replace(row, note=note)  # held since then, now for another reason

    def _ask(self, row: ActionProgress, asked: float) -> ActionProgress:
        return replace(
            self._to(row, ActionState.RUNNING),
            asked=asked,
            attempt=row.attempt + 1,
            tries=1,
            again_s=self.now_s,
        )

    def _to(self, row: ActionProgress, state: ActionState, *, note: str | None = None) -> ActionProgress:
        return replace(row, state=state, since_s=self.now_s, note=note)


def reversing(row: ActionProgress, note: str | None, now_s: float) -> ActionProgress:
    """Return a shift that begins to bring its traffic back. It may have reached what was last asked for."""
    return replace(
        row,
        state=ActionState.REVERSING,
        reached=max(row.reached, row.asked),
        asked=0.0,
        attempt=row.attempt + 1,
        tries=1,
        since_s=now_s,
        again_s=now_s,
        note=note,
    )


def ready_actions(graph: ExecutionGraph, progress: Progress) -> Bools:
    """Return (N,) which waiting or held actions have all that they wait for, and no part done."""
    waiting = progress.is_in(ActionState.WAITING) | (progress.is_in(ActionState.HELD) & (graph.phase != _SHIFT))
    ready: Bools = waiting & ~progress.paused & (unmet(graph, progress) == 0)
    return ready


def unmet(graph: ExecutionGraph, progress: Progress) -> Ints:
    """Return (N,) the number of actions that each action still waits for."""
    return np.bincount(graph.waits_to[~met(graph, progress)], minlength=len(graph.actions))


def met(graph: ExecutionGraph, progress: Progress) -> Bools:
    """Return (E,) which dependencies hold nothing up any more."""
    done, skipped = progress.is_in(ActionState.DONE), progress.is_in(ActionState.SKIPPED)
    return done[graph.waits_from] | (_met_by_skip(graph) & skipped[graph.waits_from])


def bakes_until(graph: ExecutionGraph, progress: Progress, terms: Terms) -> Floats:
    """Return (N,) seconds from which on downsizes may begin: a bake time after the last shift that they wait for."""
    last = np.full(len(graph.actions), -np.inf)
    shifts = graph.phase[graph.waits_from] == _SHIFT
    np.maximum.at(last, graph.waits_to[shifts], progress.since_s[graph.waits_from[shifts]])
    found: Floats = last + terms.downsize_bake_s
    return found


def capacity_shares(graph: ExecutionGraph, progress: Progress) -> Floats:
    """Return (N,) the largest fraction of each shift and downsize for which the capacity is there.

    People may have made upsizes smaller. An action goes as far as the least complete one of its upsizes. The upsize of
    a downsize's own place does not count: it was for a while only.
    """
    caps = np.ones(len(graph.actions))
    planned = graph.after - graph.before
    edited = (progress.size < graph.after) & (planned > 0) & (graph.pool >= 0)
    if edited.any():
        share = np.where(edited, (progress.size - graph.before) / np.where(planned > 0, planned, 1.0), 1.0)
        edges = edited[graph.waits_from] & np.isin(graph.phase[graph.waits_to], (_SHIFT, _DOWNSIZE))
        edges &= graph.earlier[graph.waits_to] != graph.waits_from
        np.minimum.at(caps, graph.waits_to[edges], share[graph.waits_from[edges]])
    return np.clip(caps, 0.0, 1.0)


def _met_by_skip(graph: ExecutionGraph) -> Bools:
    """Return (E,) which dependencies a skip meets too. They are about room, for which the check of room stands in, or
    about the order of the resizes of a place: growth comes on top of what the place has then.
    """
    frees = (graph.phase[graph.waits_from] == _DOWNSIZE) & (graph.phase[graph.waits_to] != _SHIFT)
    found: Bools = frees | ((graph.phase[graph.waits_from] == _UPSIZE) & (graph.phase[graph.waits_to] == _GROW))
    return found


def _without_basis(graph: ExecutionGraph, progress: Progress) -> Bools:
    """Return (N,) which actions can never start, because something that they need was skipped."""
    open_ = progress.is_in(ActionState.WAITING, ActionState.AWAITING_APPROVAL, ActionState.HELD) & (progress.asked == 0)
    open_ &= progress.reached == 0
    skipped, hard = progress.is_in(ActionState.SKIPPED), ~_met_by_skip(graph)
    lost = np.zeros(len(graph.actions), bool)
    while True:
        gone = skipped | lost
        more = np.zeros_like(lost)
        more[graph.waits_to[hard & gone[graph.waits_from]]] = True
        more &= open_ & ~lost
        if not more.any():
            return lost
        lost |= more


def _hold_note(stand: GateStand) -> str:
    return f"{'GateBad' if stand.verdict is Verdict.BAD else 'GateUnknown'}: {stand.why}"


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
