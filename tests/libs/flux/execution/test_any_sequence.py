"""Try any sequence of commands, answers and readings: no invariant breaks, and there is always a way to the end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from libs.domain.action_outcome import Answer, Outcome
from libs.domain.execution_plan import Phase
from libs.domain.freeze import Calendar, FreezeScope
from libs.domain.gate import Gate, GateMode, GateTime
from libs.domain.plan_execution import FINAL, IN_FLIGHT, ActionState, ExecutionState, Terms, Verb
from libs.flux.execution.commands import possible_action_verbs, possible_verbs
from libs.flux.execution.freezes import Frozen, frozen_actions
from libs.flux.execution.next_steps import unmet
from tests.builders.execution import DONE, TERMS, Execution, two_products
from tests.libs.flux.execution.test_freezes import freeze

ACTIONS = two_products(requires_approval=["store"])
SCOPES = [
    (FreezeScope.ALL, None),
    (FreezeScope.REGION, "west"),
    (FreezeScope.SERVICE, "store"),
    (FreezeScope.PRODUCT, "feed"),
]
NAMES = [a.action for a in ACTIONS]
SHIFT_GATE = Gate(name="errors", time=GateTime.FRACTION, query="q", most=1.0, mode=GateMode.REVERSE)
LOAD_TEST = Gate(name="load test", time=GateTime.DOWNSIZE, query="q", least=0.5)
GATED: Terms = replace(TERMS, gates=(SHIFT_GATE, LOAD_TEST))


class AnySequence(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.run = Execution(ACTIONS, GATED)
        self.was_final: set[str] = set()
        self.answers = [Answer(outcome=Outcome.DONE)]
        self.values: list[float | None] = [0.7]
        self.run.say = lambda action, row: self.answers[row.attempt % len(self.answers)]
        self.run.read = lambda action, gate: self.values[len(gate) % len(self.values)]

    @rule(answers=st.lists(st.sampled_from(list(Outcome)).map(lambda o: Answer(outcome=o)), min_size=1, max_size=3))
    def answer(self, answers: list[Answer]) -> None:
        self.answers = answers

    @rule(values=st.lists(st.sampled_from([None, 0.7, 2.0, 0.0]), min_size=1, max_size=2))
    def measure(self, values: list[float | None]) -> None:
        self.values = values

    @rule(verb=st.sampled_from(list(Verb)))
    def about_the_plan(self, verb: Verb) -> None:
        was, offered = self.run.state, possible_verbs(self.run.state, self.frozen().plan)
        answer = self.run.command(verb)
        assert (answer.refusal is None) == (verb in offered)
        assert answer.refusal is None or self.run.state is was

    @rule(verb=st.sampled_from(list(Verb)), name=st.sampled_from(NAMES), share=st.floats(0.0, 1.5))
    def about_an_action(self, verb: Verb, name: str, share: float) -> None:
        row, action = self.run.of(name), ACTIONS[NAMES.index(name)]
        waits = bool(unmet(self.run.graph, self.run.progress)[NAMES.index(name)])
        offered = possible_action_verbs(
            *(self.run.state, row.state),
            phase=action.phase,
            paused=row.paused,
            begun=row.begun,
            waits=waits,
            frozen=bool(self.frozen().held[NAMES.index(name)]),
        )
        size = action.before + share * (action.after - action.before)
        answer = self.run.command(verb, name, size)
        assert (answer.refusal is None) == (verb in offered) or verb is Verb.EDIT
        assert answer.refusal is None or self.run.of(name) == row

    @rule(verb=st.sampled_from([Verb.PAUSE, Verb.RESUME, Verb.APPROVE, Verb.SKIP]), phase=st.sampled_from(list(Phase)))
    def about_a_phase(self, verb: Verb, phase: Phase) -> None:
        self.run.command(verb, str(phase))

    @rule(scopes=st.lists(st.sampled_from(SCOPES), max_size=2))
    def freeze(self, scopes: list[tuple[FreezeScope, str | None]]) -> None:
        self.run.calendar = Calendar(
            freezes=tuple(freeze(self.run, *one, number=n) for n, one in enumerate(scopes)),
            overrides=self.run.calendar.overrides,
        )

    def frozen(self) -> Frozen:
        return frozen_actions(self.run.graph, self.run.progress, self.run.calendar, self.run.now_s)

    @rule(seconds=st.sampled_from([1.0, 60.0, 700.0, 4000.0]), ticks=st.integers(1, 6))
    def pass_time(self, seconds: float, ticks: int) -> None:
        for _ in range(ticks):
            before = self.run.progress
            self.run.now_s += seconds
            held = self.frozen().held
            self.run.tick(0.0)
            began = (self.run.progress.attempt > before.attempt) & ~before.is_in(*IN_FLIGHT)
            assert not (began & held & (self.run.progress.asked > 0)).any(), "it began in a freeze"
            self.check()

    @invariant()
    def check(self) -> None:
        if not hasattr(self, "run"):
            return
        graph, rows = self.run.graph, [self.run.progress.row(i) for i in range(len(NAMES))]
        assert (self.run.used() <= graph.room * (1 + 1e-3) + 1e-9).all()
        states = {row.state for row in rows}
        for before, after in zip(graph.waits_from, graph.waits_to, strict=True):
            first, then = rows[before], rows[after]
            by_hand = ActionState.TAKEN_OVER in (then.state,) or then.person
            if then.begun and ACTIONS[before].phase in (Phase.UPSIZE, Phase.SHIFT) and not by_hand:
                assert first.state is ActionState.DONE
        for i, row in enumerate(rows):
            assert 0.0 <= row.reached <= 1.0
            if ACTIONS[i].phase is Phase.SHIFT and not row.person:
                assert max(row.reached, row.asked) <= self._cap(i) + 1e-9
        if self.run.state is ExecutionState.DONE:
            assert states <= {ActionState.DONE, ActionState.SKIPPED}
        final = {NAMES[i] for i, row in enumerate(rows) if row.state in (ActionState.DONE, ActionState.SKIPPED)}
        assert self.was_final <= final
        self.was_final = final

    def _cap(self, i: int) -> float:
        graph = self.run.graph
        ups = graph.waits_from[graph.waits_to == i]
        shares = (self.run.progress.size[ups] - graph.before[ups]) / (graph.after[ups] - graph.before[ups])
        return float(np.clip(shares, 0, 1).min()) if len(ups) else 1.0

    def teardown(self) -> None:
        """From wherever it is, people can bring it to its end: nothing is stuck."""
        if not hasattr(self, "run"):
            return
        self.answers, self.values = [DONE], [0.7]
        self.run.calendar = Calendar()
        if self.run.state is ExecutionState.DRAFT:
            self.run.command(Verb.START)
        if self.run.state in (ExecutionState.PAUSED, ExecutionState.PAUSING):
            self.run.command(Verb.RESUME)
        for _ in range(3):
            self.run.run(60, 2000.0)
            if self.run.state in FINAL or self.run.state is ExecutionState.REVERSING:
                break
            for name in NAMES:
                for verb in (Verb.RESUME, Verb.COMPLETE, Verb.SKIP):
                    self.run.command(verb, name)
        if self.run.state is ExecutionState.REVERSING:
            assert self.run.decisions is not None
            assert self.run.decisions.reverses
        else:
            assert self.run.state in FINAL, self.run.states()


AnySequence.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestAnySequence = AnySequence.TestCase
