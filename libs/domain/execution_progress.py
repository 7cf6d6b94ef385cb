"""An execution as arrays: its fixed part, and how far its actions are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices, Ints, Names
from libs.domain.execution_plan import Action, Phase
from libs.domain.freeze import Scope
from libs.domain.plan_execution import ActionState

PHASES = tuple(Phase)
STATES = tuple(ActionState)
PHASE_CODE = {phase: code for code, phase in enumerate(PHASES)}
STATE_CODE = {state: code for code, state in enumerate(STATES)}
Pool = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExecutionGraph:
    """The fixed part of an execution. N actions in topological order, E dependencies, Q pools.

    phase        (N,) int8   index in PHASES
    before       (N,)        capacity before; of a shift 0
    after        (N,)        planned capacity; of a shift the share of the product's traffic
    pool         (N,) int32  index of the pool of a resize; -1: none
    earlier      (N,) int32  the resize before a resize in the same place (a service, region and type); -1: none
    waits_from   (E,) int32  the action that must finish first
    waits_to     (E,) int32  the action that waits, in ascending order
    scopes       positions of the actions in the scope of a freeze, ascending
    pools        (Q,)        region and hardware type of each pool
    used, room   (Q,)        capacity in use before the execution started, and capacity that the pool holds
    """

    actions: tuple[Action, ...]
    phase: Ints
    before: Floats
    after: Floats
    pool: Indices
    earlier: Indices
    waits_from: Indices
    waits_to: Indices
    scopes: Mapping[Scope, Indices]
    pools: tuple[Pool, ...]
    used: Floats
    room: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionProgress:
    """How far one action is.

    attempt     requests so far; each fraction and each attempt is a request, and has a key of its own
    tries       attempts at the present request
    reached     fraction that is reached for certain; of a resize 0 or 1. While a shift goes back: the most it can be
    asked       fraction that was last asked for
    size        capacity that a resize leads to, as people may have edited it
    since_s     seconds since 1970 on the Clock when the state or the fraction last changed
    again_s     the system is not asked before, and readings of gates from before do not count
    paused      True: a person paused the action
    person      True: a person had a hand in it, so automation does not take it back
    overridden  fraction at which a person overrode the verdict of the gates; -1: none
    note        why it is in its state, or the last message of the system that carries it out
    """

    position: int
    state: ActionState
    attempt: int
    tries: int
    reached: float
    asked: float
    size: float
    since_s: float
    again_s: float
    paused: bool
    person: bool
    overridden: float
    note: str | None = None

    @property
    def begun(self) -> bool:
        """Return whether part of the action was asked for or done."""
        return self.asked > 0 or self.reached > 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Progress:
    """How far all actions of an execution are. The fields of ActionProgress as (N,) arrays; state is an index in
    STATES.
    """

    state: Ints
    attempt: Ints
    tries: Ints
    reached: Floats
    asked: Floats
    size: Floats
    since_s: Floats
    again_s: Floats
    paused: Bools
    person: Bools
    overridden: Floats
    note: Names

    def row(self, position: int) -> ActionProgress:
        """Return how far one action is."""
        return ActionProgress(
            position=position,
            state=STATES[self.state[position]],
            attempt=int(self.attempt[position]),
            tries=int(self.tries[position]),
            reached=float(self.reached[position]),
            asked=float(self.asked[position]),
            size=float(self.size[position]),
            since_s=float(self.since_s[position]),
            again_s=float(self.again_s[position]),
            paused=bool(self.paused[position]),
            person=bool(self.person[position]),
            overridden=float(self.overridden[position]),
            note=self.note[position],
        )

    def is_in(self, *states: ActionState) -> Bools:
        """Return (N,) whether an action is in one of the states."""
        return np.isin(self.state, [STATE_CODE[state] for state in states])


def initial_progress(actions: tuple[Action, ...], now_s: float) -> Progress:
    """Return the progress of an execution in which nothing has begun."""
    n = len(actions)
    states = [ActionState.AWAITING_APPROVAL if a.approval else ActionState.WAITING for a in actions]
    return Progress(
        state=np.array([STATE_CODE[state] for state in states], np.int8),
        attempt=np.zeros(n, np.int64),
        tries=np.zeros(n, np.int64),
        reached=np.zeros(n),
        asked=np.zeros(n),
        size=np.array([a.after for a in actions], float),
        since_s=np.full(n, now_s),
        again_s=np.full(n, now_s),
        paused=np.zeros(n, bool),
        person=np.zeros(n, bool),
        overridden=np.full(n, -1.0),
        note=np.full(n, None, object),
    )


def changed(progress: Progress, rows: tuple[ActionProgress, ...]) -> Progress:
    """Return the progress with the values of `rows`."""
    if not rows:
        return progress
    at = np.array([row.position for row in rows])
    names = [name for name in Progress.__slots__ if name != "state"]
    new = {name: getattr(progress, name).copy() for name in names}
    for name in names:
        new[name][at] = [getattr(row, name) for row in rows]
    state = progress.state.copy()
    state[at] = [STATE_CODE[row.state] for row in rows]
    return Progress(state=state, **new)
