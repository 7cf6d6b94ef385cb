"""Turn the first step of a placement plan into a DAG of resizes and traffic shifts (Flux, 3.4)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from libs.domain.arrays import Floats
from libs.domain.execution_plan import Action, ExecutionPlan, Phase
from libs.domain.placement_plan import PlacementPlan
from libs.domain.world import PlanningInputs, ServiceModels, Vocabulary
from libs.flux.execution.shift_order import ShiftOrder, order_shifts
from libs.flux.execution.transport import region_pairs

NOISE = 1e-6
"""Share of a service's capacity, or of a product's traffic, below which a change is ignored as rounding noise."""
SMALL = 1e-3
"""Share of a service's capacity below which a resize is left out. The error of the models is larger than this."""


def plan_execution(
    words: Vocabulary, models: ServiceModels, inputs: PlanningInputs, plan: PlacementPlan
) -> ExecutionPlan:
    """Plan to upsize to max(baseline, target), shift traffic, downsize to target, and grow, in parallel if possible.

    A product's traffic goes from one region to another in a shift of its own, as a share of the traffic of the moment.
    The upsizes for growth of traffic wait for nothing, and no resize counts on a fall (planned_traffic of the inputs).
    So capacity is there before traffic grows, and as long as traffic has not fallen. A shift waits for the upsizes of
    the services that serve the product in the region that it goes to. Products that change places go in an order
    (shift_order.py), and what a service needs on top for a while is an upsize and a downsize. A downsize waits for all
    shifts, to and from its region, of the products that the service serves. It also waits for the upsizes of the
    service in its region, for a service may change its type where no traffic moves. Growth waits for all downsizes of
    its pool, because expression 15 lends the room for growth to upsizes until then. It also waits for the upsize of its
    place, because it comes on top of that.

    Resizes by less than SMALL are left out. A small downsize is left out only if the pool's spare covers it, so that
    there is room in every state.
    """
    return _Draft(words, models, inputs, plan).execution_plan()


class _Draft:
    """An execution plan under construction."""

    def __init__(self, words: Vocabulary, models: ServiceModels, inputs: PlanningInputs, plan: PlacementPlan) -> None:
        self.words, self.models, self.inputs, self.plan = words, models, inputs, plan
        self.before = models.present_capacity(inputs)
        self.target = plan.capacity[0]
        present = models.start_presence(inputs)
        moved = plan.presence(present)[0] - present  # shares of the traffic of any moment, so growth moves nothing
        moved = np.where(np.abs(moved) > NOISE, moved, 0.0)
        self.pairs = [(p, *pair) for p in np.flatnonzero(moved.any(1)).tolist() for pair in region_pairs(moved[p])]
        self.serves = models.phi()[words.placement_service] > 0
        self.small = NOISE * models.capacity[words.placement_service][:, None]

    def execution_plan(self) -> ExecutionPlan:
        reached = self.before + self._worthwhile(self.target - self.before)
        sized = np.maximum(self.before, reached)
        order = self._order(sized, reached)
        worth = order.extra > SMALL * self.models.capacity[:, None]
        sized[: len(order.extra)] += np.where(worth, order.extra, 0.0)  # the first placements: services on own types
        upsizes = self._resizes(Phase.UPSIZE, sized > self.before, self.before, sized)
        shifts = self._shifts(upsizes, order)
        downsizes = self._resizes(Phase.DOWNSIZE, sized > reached, sized, reached)
        upsized: dict[tuple[str | None, str | None], tuple[str, ...]] = {}
        for a in upsizes:
            upsized[a.service, a.region] = (*upsized.get((a.service, a.region), ()), a.action)
        downsizes = [replace(a, waits_for=a.waits_for + upsized.get((a.service, a.region), ())) for a in downsizes]
        grown = self.plan.growth[0]
        grows = self._resizes(Phase.GROW, grown > self.small, reached, reached + grown)
        settled = self._settled(downsizes, {(a.region, a.hardware_type) for a in grows})
        first = {(a.service, a.region, a.hardware_type): a.action for a in (*upsizes, *settled)}
        waiting = []
        for a in grows:  # a settled node is of no service
            places = (a.service, a.region, a.hardware_type), (None, a.region, a.hardware_type)
            waiting.append(replace(a, waits_for=tuple(first[place] for place in places if place in first)))
        return scheduled([*upsizes, *shifts, *downsizes, *settled, *waiting], int(self.plan.step[0]))

    def _order(self, sized: Floats, reached: Floats) -> ShiftOrder:
        """Return the order of the shifts while the placements have `sized` (K, R), the larger of before and after."""
        words, phi = self.words, self.models.phi()
        before, traffic = self.models.start_presence(self.inputs), self.plan.traffic[0]
        # A residual needs its capacity too. The plan may move it, so only the part that stays is set aside.
        residual = np.minimum(self._own(self.before) - phi @ before, self._own(reached) - phi @ traffic)
        used, held = self._pooled(self.before), self.inputs.supply[0] + self.plan.deficit[0]
        return order_shifts(
            self.pairs,
            phi,
            present=before,
            most=np.maximum(traffic.sum(1), 1.0),
            sized=self._own(sized) - residual,
            spare=np.maximum(held, used) - self._pooled(sized),
            allowed=self.inputs.controls.capacity_max[: len(phi)] - sized[: len(phi)],
            kind=words.service_type,
            tolerance=2 * SMALL * self.models.capacity,
        )

    def _own(self, placed: Floats) -> Floats:
        """Return (S, R) in units of the services' own types, from (K, R)."""
        found = np.zeros((len(self.words.services), placed.shape[1]))
        np.add.at(found, self.words.placement_service, placed * self.words.placement_ratio[:, None])
        return found

    def _pooled(self, placed: Floats) -> Floats:
        """Return (H, R) by hardware type, from (K, R)."""
        found = np.zeros((len(self.words.hardware_types), placed.shape[1]))
        np.add.at(found, self.words.placement_type, placed)
        return found

    def _worthwhile(self, change: Floats) -> Floats:
        """Return the (K, R) changes of capacity to carry out; 0 for each change that is left out."""
        kept = np.where(np.abs(change) > self.small, change, 0.0)
        minor = (kept != 0) & (np.abs(kept) <= SMALL / NOISE * self.small)
        kept[minor & (kept > 0)] = 0.0
        spare = self.plan.spare[0].copy()
        rows, regions = np.nonzero(minor & (kept < 0))
        for at in np.argsort(-kept[rows, regions], kind="stable"):  # the smallest first
            k, r = int(rows[at]), int(regions[at])
            pool = int(self.words.placement_type[k]), r
            if spare[pool] + kept[k, r] >= 0:
                spare[pool] += kept[k, r]
                kept[k, r] = 0.0
        return kept

    def _resizes(
        self,
        phase: Phase,
        where: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
        before: Floats,
        after: Floats,
    ) -> list[Action]:
        words, policy = self.words, self.inputs.policy
        shifts = self._shifts_at()
        found = []
        for k, r in zip(*np.nonzero(where), strict=True):
            s = int(words.placement_service[k])
            service, region = str(words.services[s]), str(words.regions[r])
            kind = str(words.hardware_types[words.placement_type[k]])
            approval = self._approval(k, s, r, float(before[k, r]), float(after[k, r]))
            lead_time_h = float(self.inputs.controls.lead_time_h[s]) if phase is Phase.UPSIZE else 0.0
            work_h = policy.upsize_h if phase is Phase.UPSIZE else policy.downsize_h
            waits: tuple[str, ...] = ()
            if phase is Phase.DOWNSIZE:
                waits = tuple(name for p, name in shifts.get(r, ()) if self.serves[k, p])
            found.append(
                Action(
                    action=f"{phase}/{service}/{region}/{kind}",
                    phase=phase,
                    service=service,
                    region=region,
                    hardware_type=kind,
                    before=float(before[k, r]),
                    after=float(after[k, r]),
                    lead_time_h=lead_time_h,
                    estimate_h=lead_time_h + work_h + (policy.approval_h if approval else 0.0),
                    approval=approval,
                    waits_for=waits,
                )
            )
        return found

    def _approval(self, k: int, s: int, r: int, before: float, after: float) -> tuple[str, ...]:
        """Return why a person must approve a resize. Growth comes on top of limits, so it alone can pass them."""
        controls = self.inputs.controls
        passes = after > max(before, float(controls.capacity_max[k, r]) + float(self.small[k, 0]))
        found = {
            "OwnerApproves": bool(controls.requires_approval[s] or controls.approval[k, r]),
            "LowConfidence": bool(self.models.reasons[s]),
            "NotAutomated": bool(not controls.automated[s] or controls.manual[k, r]),
            "AboveCapacityMax": passes,
        }
        return tuple(reason for reason, holds in found.items() if holds)

    def _shifts(self, upsizes: list[Action], order: ShiftOrder) -> list[Action]:
        words, phi = self.words, self.models.phi()
        row = {str(name): s for s, name in enumerate(words.services)}
        at = {str(name): r for r, name in enumerate(words.regions)}
        upsized: dict[int, list[tuple[int, str]]] = {}
        for a in upsizes:
            upsized.setdefault(at[str(a.region)], []).append((row[str(a.service)], a.action))
        return [
            Action(
                action=self._shift_name(p, away, to),
                phase=Phase.SHIFT,
                product=str(words.products[p]),
                region=str(words.regions[away]),
                to_region=str(words.regions[to]),
                after=amount,
                estimate_h=self.inputs.policy.shift_h,
                waits_for=(
                    *(name for s, name in upsized.get(to, ()) if phi[s, p] > 0),
                    *(self._shift_name(*self.pairs[j][:3]) for j in order.waits[i]),
                ),
            )
            for i, (p, away, to, amount) in enumerate(self.pairs)
        ]

    def _shifts_at(self) -> dict[int, list[tuple[int, str]]]:
        """Return region -> the (product, id) of all shifts to or from it."""
        found: dict[int, list[tuple[int, str]]] = {}
        for p, away, to, _ in self.pairs:
            for r in (away, to):
                found.setdefault(r, []).append((p, self._shift_name(p, away, to)))
        return found

    def _shift_name(self, p: int, away: int, to: int) -> str:
        words = self.words
        return f"shift/{words.products[p]}/{words.regions[away]}/{words.regions[to]}"

    def _settled(self, downsizes: list[Action], pools: set[tuple[str | None, str | None]]) -> list[Action]:
        freed: dict[tuple[str | None, str | None], list[str]] = {}
        for a in downsizes:
            if (a.region, a.hardware_type) in pools:
                freed.setdefault((a.region, a.hardware_type), []).append(a.action)
        return [
            Action(
                action=f"settled/{region}/{kind}",
                phase=Phase.SETTLED,
                region=region,
                hardware_type=kind,
                waits_for=tuple(waits),
            )
            for (region, kind), waits in freed.items()
        ]


def scheduled(actions: list[Action], step: int) -> ExecutionPlan:
    """Return the actions in order, each with its start. Raises ValueError if they wait in a circle."""
    import networkx as nx  # late: workers that only carry plans out do not need it

    by_id = {a.action: a for a in actions}
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(by_id)
    graph.add_edges_from((before, a.action) for a in actions for before in a.waits_for)
    if not nx.is_directed_acyclic_graph(graph):
        raise ValueError("actions wait for each other in a circle")
    start: dict[str, float] = {}
    last: dict[str, str | None] = {}
    ordered = []
    for name in nx.lexicographical_topological_sort(graph):
        a = by_id[name]
        ends = [(start[b] + by_id[b].estimate_h, b) for b in a.waits_for]
        start[name], last[name] = max(ends, default=(0.0, None), key=lambda end: end[0])
        ordered.append(replace(a, start_h=start[name]))
    end = max(ordered, default=None, key=lambda a: a.start_h + a.estimate_h)
    path: list[str] = []
    at = end.action if end is not None else None
    while at is not None:
        path.append(at)
        at = last[at]
    return ExecutionPlan(
        step=step,
        actions=tuple(ordered),
        estimate_h=end.start_h + end.estimate_h if end is not None else 0.0,
        critical_path=tuple(reversed(path)),
    )
