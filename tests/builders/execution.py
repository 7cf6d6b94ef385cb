"""Carry out an execution in memory: one tick after another, with answers and readings that the test decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from libs.domain.action_outcome import Answer, Outcome
from libs.domain.execution_plan import Action, Phase
from libs.domain.execution_progress import ActionProgress, ExecutionGraph, changed, initial_progress
from libs.domain.freeze import NO_FREEZES
from libs.domain.gate import GateReading
from libs.domain.plan_execution import ActionState, Command, CommandLevel, ExecutionState, Terms, Verb
from libs.flux.execution.apply import CommandAnswer, apply_command
from libs.flux.execution.gates import bound_of, gates_of, query_of
from libs.flux.execution.graph import execution_graph
from libs.flux.execution.next_steps import Decisions, next_steps
from libs.flux.execution.outcomes import judge_answer
from libs.flux.execution.plan import plan_execution, scheduled
from tests.golden.dag_worlds import planned_world

DONE = Answer(outcome=Outcome.DONE)
TERMS = Terms(bake_s=600.0, downsize_bake_s=1200.0, action_s_max=3600.0, attempts_max=2, retry_s=60.0)


def two_products(**controls) -> tuple[Action, ...]:
    """Traffic of shop goes from east to west, of feed from north to east; store may grow in north afterwards.

    The shifts do not wait for each other, so that a test can stop one branch and see the other go on.
    """
    world = planned_world(
        traffic={"shop": [[0.5, 0.3, 0.2], [0.4, 0.4, 0.2]], "feed": [[0.2, 0.3, 0.5], [0.4, 0.3, 0.3]]},
        services={"shop-front": {"shop": 100}, "feed-front": {"feed": 80}, "store": {"shop": 50, "feed": 100}},
        growth={("store", "north"): 5},
        **controls,
    )
    actions = [
        replace(a, waits_for=tuple(b for b in a.waits_for if a.phase is not Phase.SHIFT or not b.startswith("shift/")))
        for a in plan_execution(*world).actions
    ]
    return scheduled(actions, 1).actions


def resize(service: str, before: float, after: float, phase: Phase = Phase.UPSIZE, **more: Any) -> Action:
    """Return a resize of a service in the region east, of hardware hw."""
    name = f"{phase}/{service}/east/hw"
    place = {"service": service, "region": "east", "hardware_type": "hw"}
    return Action(action=name, phase=phase, before=before, after=after, **place, **more)


def pools_of(actions: tuple[Action, ...], spare: float = 0.0) -> tuple[dict, dict]:
    """Return use and room: all that is in use before, and just enough room for all upsizes at once."""
    used: dict = {}
    more: dict = {}
    for a in actions:
        if a.service is not None:
            pool = (a.region, a.hardware_type)
            used[pool] = used.get(pool, 0.0) + (a.before if a.phase is not Phase.GROW else 0.0)
            more[pool] = more.get(pool, 0.0) + (a.after - a.before if a.phase is Phase.UPSIZE else 0.0)
    return used, {pool: used[pool] + more[pool] + spare for pool in used}


class Execution:
    """An execution with a clock. `say` answers requests, and `read` gives the values of gates."""

    def __init__(self, actions: tuple[Action, ...], terms: Terms = TERMS, graph: ExecutionGraph | None = None) -> None:
        self.graph = graph or execution_graph(actions, *pools_of(actions))
        self.terms, self.now_s, self.state = terms, 1_000_000.0, ExecutionState.DRAFT
        self.calendar = NO_FREEZES
        self.progress = initial_progress(actions, self.now_s)
        self.say: Callable[[Action, ActionProgress], Answer] = lambda action, row: DONE
        self.read: Callable[[Action, str], float | None] = lambda action, gate: 0.0
        self.readings: dict[int, list[GateReading]] = {}
        self.asked: list[tuple[str, int, float]] = []
        self.decisions: Decisions | None = None

    def command(self, verb: Verb, subject: str = "", size: float | None = None) -> CommandAnswer:
        level = (
            CommandLevel.PLAN if not subject else CommandLevel.PHASE if subject in list(Phase) else CommandLevel.ACTION
        )
        given = Command(level=level, verb=verb, subject=subject, size=size)
        answer = apply_command(self.graph, self.state, self.progress, given, self.now_s, self.calendar)
        self.state, self.progress = answer.state, changed(self.progress, answer.changes)
        self.calendar = replace(self.calendar, overrides=self.calendar.overrides | set(answer.overrides))
        return answer

    def tick(self, seconds: float = 60.0) -> Decisions:
        self.now_s += seconds
        found = next_steps(self.graph, self.state, self.progress, self.readings, self.terms, self.now_s, self.calendar)
        self.state, self.progress, self.decisions = found.state, changed(self.progress, found.changes), found
        for position in found.measure:
            action = self.graph.actions[position]
            for gate in gates_of(self.terms.gates, action):
                one = GateReading(
                    position=position,
                    gate=gate.name,
                    at=datetime.fromtimestamp(self.now_s, UTC),
                    value=self.read(action, gate.name),
                    query=query_of(gate, action),
                    bound=bound_of(gate),
                )
                self.readings.setdefault(position, []).append(one)
        for position in found.ask:
            self.answer(position)
        return found

    def answer(self, position: int) -> None:
        action, row = self.graph.actions[position], self.progress.row(position)
        self.asked.append((action.action, row.attempt, row.asked))
        new = judge_answer(row, action.phase, self.say(action, row), self.terms, self.now_s)
        self.progress = changed(self.progress, () if new is None else (new,))

    def run(self, ticks: int = 400, seconds: float = 60.0) -> ExecutionState:
        for _ in range(ticks):
            self.tick(seconds)
        return self.state

    def of(self, name: str) -> ActionProgress:
        (position,) = [i for i, a in enumerate(self.graph.actions) if a.action == name]
        return self.progress.row(position)

    def states(self) -> dict[str, ActionState]:
        return {a.action: self.progress.row(i).state for i, a in enumerate(self.graph.actions)}

    def used(self) -> np.ndarray:
        """The most that each pool may hold now: an upsize from its first request, a downsize once it is done."""
        used = self.graph.used.copy()
        for i, a in enumerate(self.graph.actions):
            row = self.progress.row(i)
            if a.service is None:
                continue
            more = row.size - a.before
            if row.begun if more > 0 else row.state is ActionState.DONE:
                used[self.graph.pool[i]] += more
        return used
