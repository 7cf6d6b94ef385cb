"""Check a placement plan step by step, straight from the definitions and without a solver."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from libs.domain.arrays import Floats, Names
from libs.domain.placement_plan import PlacementPlan
from libs.domain.violation import Violation
from libs.domain.world import PlanningInputs, ServiceModels, Vocabulary

TOLERANCE = 1e-4
GROWTH_TOLERANCE = 0.02
"""Tolerated error of growth, as a share of the growth granted. Expression 13 is bilinear, so it holds approximately."""


def check_placement(
    words: Vocabulary, models: ServiceModels, inputs: PlanningInputs, plan: PlacementPlan
) -> list[Violation]:
    """Return every violation of a plan; empty if it may be carried out (Flux, expressions 9 to 15)."""
    found: list[Violation] = []
    least, explained = models.least_capacity(words, inputs), models.phi() @ models.start_presence(inputs)
    before = models.start_baseline(inputs)[0]
    for t in range(len(plan.step)):
        own = _own(words, least[t])
        found += _step(words, models, inputs, plan, t, before, own, own - explained)
        before = plan.capacity[t]
    return found


def _step(
    words: Vocabulary,
    models: ServiceModels,
    inputs: PlanningInputs,
    plan: PlacementPlan,
    t: int,
    before: Floats,
    baseline: Floats,
    rho: Floats,
) -> Iterator[Violation]:
    x, c, g = plan.traffic[t], plan.capacity[t], plan.growth[t]
    own, total = _own(words, c), _own(words, c).sum(1)
    size, R = models.capacity[:, None], words.regions
    places = [
        f"{words.services[s]} on {words.hardware_types[h]}"
        for s, h in zip(words.placement_service, words.placement_type, strict=True)
    ]
    named = np.array(places, object)
    placed = models.capacity[words.placement_service][:, None]
    step = f"step {plan.step[t]}"
    asked = inputs.planned_traffic()[t]
    controls, residual = inputs.controls, plan.residual[t]
    shrinks = models.phi() @ asked + rho.sum(1) < baseline.sum(1) * (1 - 1e-9)
    keeps = (~controls.rebalance & ~shrinks)[:, None]
    yield from _where(step, "Negative", "is below 0", -np.minimum(np.minimum(c, g), 0.0), placed, named, R)
    yield from _where(step, "TrafficLost", "is not all placed", np.abs(x.sum(1) - asked)[:, None], 1.0, words.products)
    least = inputs.presence_min * asked[:, None]
    most = np.minimum(inputs.presence_max, 1.0) * asked[:, None]  # without a limit: all of it
    yield from _where(
        step, "PresenceLimit", "leaves its limits", np.maximum(least - x, x - most), 1.0, words.products, R
    )
    limits = np.maximum(controls.capacity_min - c, c - controls.capacity_max)
    yield from _where(step, "CapacityLimit", "leaves its limits", limits, placed, named, R)
    off = np.abs(own - models.phi() @ x - residual)
    yield from _where(step, "Attribution", "does not follow its traffic (9)", off, size, words.services, R)
    worse = np.minimum(rho, 0.0) - residual
    yield from _where(step, "Residual", "has a worse residual than now (10)", worse, size, words.services, R)
    asked_more = np.isin(np.arange(len(rho)), inputs.load_tests.service)[:, None]
    kept = np.where(keeps, np.where(asked_more, rho - residual, np.abs(residual - rho)), 0.0)
    yield from _where(step, "ResidualKept", "does not keep its residual", kept, size, words.services, R)
    taken = (baseline.sum(1) - total)[:, None]
    yield from _where(step, "BaselineTaken", "has less than its baseline", taken, size, words.services)
    granted = np.where(models.modelled, inputs.growth[t], 0.0) * plan.granted[t]
    grown = _own(words, g)
    given = np.abs(grown.sum(1) - granted)[:, None]
    yield from _where(step, "Growth", "is not given the growth it is granted", given, size, words.services)
    share = np.divide(own, total[:, None], out=np.zeros_like(own), where=total[:, None] > 0)
    uneven = np.abs(grown - granted[:, None] * share) - GROWTH_TOLERANCE * granted[:, None]
    uneven[total <= 0] = 0.0
    yield from _where(step, "GrowthShare", "does not grow where it is (13)", uneven, size, words.services, R)
    yield from _pools(words, inputs, plan, t, before)


def _pools(
    words: Vocabulary, inputs: PlanningInputs, plan: PlacementPlan, t: int, before: Floats
) -> Iterator[Violation]:
    c, g, held = plan.capacity[t], plan.growth[t], inputs.supply[t]
    spare, deficit, double = plan.spare[t], plan.deficit[t], plan.double_occupancy[t]
    step, H, R = f"step {plan.step[t]}", words.hardware_types, words.regions
    added, freed = np.maximum(c - before, 0.0), np.maximum(before - c, 0.0)
    late = max(inputs.policy.executed_upsize_share - 1, 0.0) * added
    late += max(1 - inputs.policy.executed_downsize_share, 0.0) * freed
    below = -np.minimum(np.minimum(spare, deficit), double)
    yield from _where(step, "Negative", "has spare or deficit below 0", below, held, H, R)
    over = np.abs(held + deficit - spare - _pooled(words, c + g + late))
    yield from _where(step, "Capacity", "does not add up to its supply (11)", over, held, H, R)
    hidden = _pooled(words, freed) - double
    yield from _where(step, "DoubleOccupancy", "frees more than it says (14)", hidden, held, H, R)
    cramped = double - spare - _pooled(words, g)
    yield from _where(step, "NoRoom", "has no room for upsizes before downsizes (15)", cramped, held, H, R)


def _where(
    step: str, reason: str, what: str, excess: Floats, scale: Floats | float, names: Names, regions: Names | None = None
) -> Iterator[Violation]:
    """Yield a violation for each place where the excess is above TOLERANCE times its scale."""
    bad = excess > TOLERANCE * np.maximum(1.0, scale)
    for row, column in zip(*np.nonzero(bad), strict=True):
        place = f"{names[row]} in {regions[column]}" if regions is not None else str(names[row])
        yield Violation(reason=reason, message=f"{step}: {place} {what}, by {excess[row, column]:.6g}")


def _own(words: Vocabulary, placed: Floats) -> Floats:
    own = np.zeros((len(words.services), placed.shape[1]))
    np.add.at(own, words.placement_service, placed * words.placement_ratio[:, None])
    return own


def _pooled(words: Vocabulary, placed: Floats) -> Floats:
    pooled = np.zeros((len(words.hardware_types), placed.shape[1]))
    np.add.at(pooled, words.placement_type, placed)
    return pooled
