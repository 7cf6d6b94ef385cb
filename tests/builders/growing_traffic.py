"""Carry out plans while traffic grows and falls, and compare capacity with the need at every moment.

It reads sizes and shares off the requests of an execution. It knows nothing of how a plan counts growth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from libs.domain.action_outcome import Answer, Outcome
from libs.domain.execution_plan import Phase
from libs.domain.plan_execution import FINAL, ActionState, ExecutionState, Verb
from libs.domain.world import PlanningInputs, ServiceModels, Vocabulary
from libs.flux.execution.graph import execution_graph
from libs.flux.planning import Planned
from tests.builders.execution import TERMS, Execution

GROWS = (Phase.UPSIZE, Phase.GROW)
VERBS = (
    *(Verb.APPROVE, Verb.REJECT, Verb.EDIT, Verb.SKIP, Verb.REVERSE),
    *(Verb.RETRY, Verb.OVERRIDE, Verb.PAUSE, Verb.RESUME),
)
"""Commands of people about an action."""


@dataclass
class Moment:
    """Capacity (S, R) that is there for certain, and the most of a product's traffic (P, R) that a region can have."""

    capacity: np.ndarray
    share: np.ndarray
    ready: np.ndarray


class GrowingTraffic:
    """One step of a plan. `rng` decides how long each request takes and when traffic changes."""

    def __init__(self, planned: Planned, rng: np.random.Generator) -> None:
        self.words, self.models, self.inputs = planned.words, planned.models, planned.inputs
        self.rng, self.planned = rng, planned
        pools = planned.execution.pools
        used = {(one.region, one.hardware_type): one.used for one in pools}
        room = {(one.region, one.hardware_type): one.room for one in pools}
        actions = planned.execution.actions
        patient = replace(TERMS, action_s_max=1e6)
        self.run = Execution(actions, patient, graph=execution_graph(actions, used, room))
        self.run.say = lambda action, row: Answer(outcome=Outcome.DONE if rng.random() < 0.5 else Outcome.RUNNING)
        self.run.command(Verb.START)
        self.level = np.ones(len(self.words.products))
        """Traffic of each product, as a share of today's."""
        self.worst = 0.0
        """Largest need beyond capacity so far, as a share of the service's capacity."""

    def to_the_end(self, ticks: int = 2000) -> ExecutionState:
        """Carry out the plan, and look at each moment."""
        self.look()
        for _ in range(ticks):
            if self.run.state in FINAL:
                break
            self.run.tick(float(self.rng.choice([60.0, 600.0, 1500.0])))
            self.look()
        self.look(all_came=True)
        return self.run.state

    def under_people(self, ticks: int) -> None:
        """Carry out the plan while people give any commands. Traffic falls and does not grow, for no plan is ready."""
        actions = self.run.graph.actions
        for _ in range(ticks):
            if self.rng.random() < 0.3:
                a, verb = actions[self.rng.integers(len(actions))], VERBS[self.rng.integers(len(VERBS))]
                self.run.command(verb, a.action, a.before + self.rng.random() * 1.2 * (a.after - a.before))
            self.run.tick(float(self.rng.choice([60.0, 600.0, 1500.0])))
            self.look(grows=False)

    def look(self, *, all_came: bool = False, grows: bool = True) -> None:
        """Change the traffic, and compare. Traffic falls at any moment, and grows once the plan is ready for it."""
        now, change = self.moment(), self.inputs.traffic_growth[0]
        may = (change < 0) | (grows & now.ready)
        came = may & (all_came | (self.rng.random(len(change)) < 0.1))
        self.level = np.where(came, 1.0 + change, self.level)
        excess = (self.need(now.share) - now.capacity) / np.maximum(self.models.capacity, 1e-9)[:, None]
        self.worst = max(self.worst, float(excess.max()))

    def need(self, share: np.ndarray) -> np.ndarray:
        """Return the (S, R) need of the traffic of this moment. A region that has less than its model says may keep
        that (expression 10).
        """
        phi = self.models.capacity[:, None] * self.models.attribution
        today = self.own(self.models.present_capacity(self.inputs)) - phi @ self.models.start_presence(self.inputs)
        return phi @ (share * self.level[:, None]) + np.minimum(today, 0.0)

    def own(self, placed: np.ndarray) -> np.ndarray:
        found = np.zeros((len(self.words.services), placed.shape[1]))
        for k, s in enumerate(self.words.placement_service):
            found[s] += placed[k] * self.words.placement_ratio[k]
        return found

    def placed(self, *, certain: bool) -> np.ndarray:
        """Return the (K, R) capacity. certain: a resize in flight counts only if it shrinks."""
        place = {
            (str(self.words.services[s]), str(self.words.hardware_types[h])): k
            for k, (s, h) in enumerate(zip(self.words.placement_service, self.words.placement_type, strict=True))
        }
        at = {str(name): r for r, name in enumerate(self.words.regions)}
        found = np.array(self.models.present_capacity(self.inputs))
        for i, a in enumerate(self.run.graph.actions):
            if a.service is not None and a.hardware_type is not None:
                row = self.run.progress.row(i)
                done = row.state is ActionState.DONE
                if done or (certain and a.phase not in GROWS and row.begun):
                    found[place[a.service, a.hardware_type], at[str(a.region)]] += row.size - a.before
        return found

    def shares(self, *, most: bool) -> np.ndarray:
        """Return the (P, R) shares of traffic. most: a shift in flight is both where it goes and where it leaves."""
        number = {str(name): p for p, name in enumerate(self.words.products)}
        at = {str(name): r for r, name in enumerate(self.words.regions)}
        found = np.array(self.models.start_presence(self.inputs))
        for i, a in enumerate(self.run.graph.actions):
            if a.phase is Phase.SHIFT:
                row = self.run.progress.row(i)
                came = max(row.reached, row.asked) if most else row.reached
                left = min(row.reached, row.asked) if most else row.reached
                found[number[str(a.product)], at[str(a.to_region)]] += came * a.after
                found[number[str(a.product)], at[str(a.region)]] -= left * a.after
        return found

    def moment(self) -> Moment:
        return Moment(capacity=self.own(self.placed(certain=True)), share=self.shares(most=True), ready=self.ready())

    def ready(self) -> np.ndarray:
        """Return (P,) whether the upsizes of a product's services are done, and the shifts of all their products."""
        row = {str(name): s for s, name in enumerate(self.words.services)}
        number = {str(name): p for p, name in enumerate(self.words.products)}
        serves = self.models.attribution > 0
        found = np.ones(len(self.words.products), bool)
        for i, a in enumerate(self.run.graph.actions):
            if self.run.progress.row(i).state is ActionState.DONE:
                continue
            if a.phase is Phase.UPSIZE:
                found &= ~serves[row[str(a.service)]]
            if a.phase is Phase.SHIFT:
                found &= ~serves[serves[:, number[str(a.product)]]].any(0)
        return found

    def next_week(self) -> tuple[Vocabulary, ServiceModels, PlanningInputs]:
        """Return the world as the next plan measures it: capacity and traffic as they are now."""
        capacity, share = self.placed(certain=False), self.shares(most=False)
        phi = self.models.capacity[:, None] * self.models.attribution * self.level
        whole = phi.sum(1)
        growth = self.inputs.traffic_growth
        more: dict[str, Any] = {
            "step": self.inputs.step[:-1],
            "supply": self.inputs.supply[1:],
            "growth": self.inputs.growth[1:],
            "growth_priority": self.inputs.growth_priority[1:],
            "traffic_growth": np.where(self.level > 0, (1 + growth[1:]) / np.maximum(self.level, 1e-9) - 1, 0.0),
            "ledger": self.inputs.ledger[1:],
            "granted": np.broadcast_to(capacity, (len(growth) - 1, *capacity.shape)),
        }
        models = replace(
            self.models,
            capacity=whole,
            attribution=np.divide(phi, whole[:, None], out=np.full_like(phi, 1 / len(share)), where=whole[:, None] > 0),
            baseline=np.minimum(self.models.baseline, capacity),
            presence=share,
        )
        return self.words, models, replace(self.inputs, **more)
