"""Read supply, growth, ledger, controls and policy of a world folder. docs/flux.md describes every file."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Floats, Indices
from libs.domain.load_tests import LoadTests
from libs.domain.world import PlanningInputs, ServiceControls, Vocabulary
from libs.interchange.files.errors import InterchangeError, Problem, Problems
from libs.interchange.files.policy import load_flux_policy
from libs.interchange.files.tables import Source
from libs.interchange.files.world_table import WorldTable
from libs.interchange.world.overrides import apply_overrides

STEPS_MAX = 520


def load_planning_inputs(source: Source, words: Vocabulary) -> PlanningInputs:
    """Return all inputs that a plan must respect. Raises InterchangeError."""
    problems = Problems()
    supply = WorldTable(
        source,
        "supply",
        problems,
        fields={"step": "number", "region": "name", "hardware_type": "name", "capacity": "number"},
    )
    at = supply.numbers("step")
    problems.raise_any()
    steps = np.unique(at)
    if not 0 < len(steps) <= STEPS_MAX or (steps != np.round(steps)).any():
        raise InterchangeError([Problem("supply", None, "step", f"must be whole numbers, 1 to {STEPS_MAX} of them")])
    H, R = len(words.hardware_types), len(words.regions)
    held = np.zeros((len(steps), H, R))
    where = (
        np.searchsorted(steps, at),
        supply.known("hardware_type", words.hardware_types, "hardware type"),
        supply.known("region", words.regions, "region"),
    )
    supply.unique("step", np.ravel_multi_index(where, held.shape), "this step, hardware type and region")
    held[where] = supply.numbers("capacity")
    growth, priority = _growth(source, words, steps, problems)
    presence_min, presence_max = _presence(source, words, problems)
    found = PlanningInputs(
        step=steps.astype(np.int64),
        supply=held,
        growth=growth,
        growth_priority=priority,
        traffic_growth=_traffic_growth(source, words, steps, problems),
        ledger=_ledger(source, words, steps, problems),
        shifts=_shifts(source, words, steps, problems),
        presence_min=presence_min,
        presence_max=presence_max,
        controls=_controls(source, words, problems),
        load_tests=_load_tests(source, words, problems),
        policy=load_flux_policy(source, problems),
        granted=_granted(source, words, steps, problems),
    )
    problems.raise_any()
    found = apply_overrides(source, words, found, problems)
    problems.raise_any()
    return found


def _steps_of(table: WorldTable, steps: Floats) -> Indices:
    at = table.numbers("step")
    found = np.searchsorted(steps, at)
    unknown = (found >= len(steps)) | (steps[np.minimum(found, len(steps) - 1)] != at)
    table.bad_rows(unknown, "step", "is not a step of supply")
    return np.asarray(np.minimum(found, len(steps) - 1), np.int32)


def _growth(source: Source, words: Vocabulary, steps: Floats, problems: Problems) -> tuple[Floats, Floats]:
    """Return the growth that services ask for, (T, S), in units of their own type, and its priority (inf: granted in
    full).
    """
    table = WorldTable(
        source,
        "growth",
        problems,
        fields={
            "step": "number",
            "service": "name",
            "hardware_type": "name",
            "capacity": "number",
            "priority": "number",
            "conversion_ratio": "number",
        },
        optional=True,
    )
    growth, priority = np.zeros((len(steps), len(words.services))), np.full((len(steps), len(words.services)), np.inf)
    step, service = _steps_of(table, steps), table.known("service", words.services, "service")
    kind = table.known("hardware_type", words.hardware_types, "hardware type")
    ratio = table.optional_numbers("conversion_ratio", np.nan)
    table.bad_rows(ratio <= 0, "conversion_ratio", "is not above 0")
    ratio = np.where(np.isnan(ratio), _ratios(words, service, kind), ratio)
    table.bad_rows(np.isnan(ratio), "hardware_type", "is not the service's own type: give a conversion_ratio")
    table.unique("service", step.astype(np.int64) * len(words.services) + service, "this step and service")
    growth[step, service] = table.numbers("capacity") * np.nan_to_num(ratio)
    priority[step, service] = table.optional_numbers("priority", np.inf)
    return growth, priority


def _ratios(words: Vocabulary, service: Indices, kind: Indices) -> Floats:
    """Return the worth of one server of this type in units of the service's own type, (N,); nan if the service cannot
    run on it.
    """
    worth = np.full((len(words.services), len(words.hardware_types)), np.nan)
    worth[words.placement_service, words.placement_type] = words.placement_ratio
    return np.asarray(worth[service, kind])


def _traffic_growth(source: Source, words: Vocabulary, steps: Floats, problems: Problems) -> Floats:
    table = WorldTable(
        source,
        "traffic_growth",
        problems,
        fields={"step": "number", "product": "name", "growth": "number"},
        optional=True,
    )
    growth = np.zeros((len(steps), len(words.products)))
    step, product = _steps_of(table, steps), table.known("product", words.products, "product")
    table.unique("product", step.astype(np.int64) * len(words.products) + product, "this step and product")
    growth[step, product] = table.numbers("growth", least=-1.0)
    return growth


def _ledger(source: Source, words: Vocabulary, steps: Floats, problems: Problems) -> Floats:
    """Return the (T, K, R) sum of the changes that are due before the end of each step."""
    table = WorldTable(
        source,
        "ledger",
        problems,
        fields={"step": "number", "service": "name", "region": "name", "hardware_type": "name", "delta": "number"},
        optional=True,
    )
    change = np.zeros((len(steps) + 1, len(words.placement_service), len(words.regions)))
    where = _due(table, steps), placements_of(table, words), table.known("region", words.regions, "region")
    np.add.at(change, where, table.numbers("delta", least=-np.inf))
    return np.asarray(change[:-1].cumsum(0))


def _shifts(source: Source, words: Vocabulary, steps: Floats, problems: Problems) -> Floats:
    """Return the (P, R) changes of presence that are due before the end of the first step. The planner service writes
    this table from the events of its capacity ledger.
    """
    table = WorldTable(
        source,
        "ledger_shifts",
        problems,
        fields={"step": "number", "product": "name", "from_region": "name", "to_region": "name", "share": "number"},
        optional=True,
    )
    moved = np.zeros((len(words.products), len(words.regions)))
    product, now = table.known("product", words.products, "product"), _due(table, steps) == 0
    share = np.where(now, table.numbers("share", least=-np.inf), 0.0)
    for field, sign in (("from_region", -1.0), ("to_region", 1.0)):
        np.add.at(moved, (product, table.known(field, words.regions, "region")), sign * share)
    return moved


def _granted(source: Source, words: Vocabulary, steps: Floats, problems: Problems) -> Floats | None:
    """Return the (T, K, R) granted capacity; None without the table. The planner service writes it from the
    promises of the regions.
    """
    table = WorldTable(
        source,
        "granted",
        problems,
        fields={"step": "number", "service": "name", "region": "name", "hardware_type": "name", "capacity": "number"},
        optional=True,
    )
    found = np.full((len(steps), len(words.placement_service), len(words.regions)), np.nan)
    where = _steps_of(table, steps), placements_of(table, words), table.known("region", words.regions, "region")
    table.unique("region", np.ravel_multi_index(where, found.shape), "this step, service, region and hardware type")
    found[where] = table.numbers("capacity")
    return None if np.isnan(found).all() else found


def _due(table: WorldTable, steps: Floats) -> Indices:
    """Return the index of the step from which each row counts. Without a step it counts from the first one, and after
    the last step it gets the index T.
    """
    return np.asarray(np.searchsorted(steps, table.optional_numbers("step", -np.inf)), np.int32)


def _presence(source: Source, words: Vocabulary, problems: Problems) -> tuple[Floats, Floats]:
    """Return the (P, R) least and largest share of a product's traffic in a region."""
    table = WorldTable(
        source,
        "presence_limits",
        problems,
        fields={"product": "name", "region": "name", "share_min": "number", "share_max": "number"},
        optional=True,
    )
    shape = len(words.products), len(words.regions)
    least, most = np.zeros(shape), np.full(shape, np.inf)
    where = table.known("product", words.products, "product"), table.known("region", words.regions, "region")
    table.unique("region", np.ravel_multi_index(where, shape), "this product and region")
    least[where], most[where] = table.optional_numbers("share_min", 0.0), table.optional_numbers("share_max", np.inf)
    table.bad_rows((least > most)[where], "share_max", "is less than share_min")
    table.bad_rows((least < 0)[where], "share_min", "is less than 0")
    return least, most


def _controls(source: Source, words: Vocabulary, problems: Problems) -> ServiceControls:
    """Return the controls per service (table `services`), and per service, region and type (table `controls`)."""
    S, K, R = len(words.services), len(words.placement_service), len(words.regions)
    services = WorldTable(
        source,
        "services",
        problems,
        fields={
            "service": "name",
            "rebalance": "number",
            "automated": "number",
            "requires_approval": "number",
            "lead_time_h": "number",
        },
    )
    row = services.known("service", words.services, "service")
    rebalance, automated, approval = np.ones(S, bool), np.ones(S, bool), np.zeros(S, bool)
    lead_time = np.zeros(S)
    rebalance[row] = services.flags("rebalance", absent=True)
    automated[row] = services.flags("automated", absent=True)
    approval[row] = services.flags("requires_approval", absent=False)
    lead_time[row] = services.optional_numbers("lead_time_h", 0.0)
    table = WorldTable(
        source,
        "controls",
        problems,
        fields={
            "service": "name",
            "region": "name",
            "hardware_type": "name",
            "rebalance_weight": "number",
            "capacity_min": "number",
            "capacity_max": "number",
            "automated": "number",
            "requires_approval": "number",
            "reason": "name",
        },
        optional=True,
    )
    placement, region = placements_of(table, words), table.known("region", words.regions, "region")
    table.unique("region", placement.astype(np.int64) * R + region, "this service, hardware type and region")
    weight, least, most = np.ones((K, R)), np.zeros((K, R)), np.full((K, R), np.inf)
    manual, approved, reason = np.zeros((K, R), bool), np.zeros((K, R), bool), np.full((K, R), "", object)
    where = placement, region
    weight[where] = table.optional_numbers("rebalance_weight", 1.0)
    least[where], most[where] = (
        table.optional_numbers("capacity_min", 0.0),
        table.optional_numbers("capacity_max", np.inf),
    )
    manual[where] = ~table.flags("automated", absent=True)
    approved[where] = table.flags("requires_approval", absent=False)
    reason[where] = table.optional_strings("reason", "")
    table.bad_rows((least > most)[where], "capacity_max", "is less than capacity_min")
    table.bad_rows((weight < 0)[where], "rebalance_weight", "is less than 0")
    return ServiceControls(
        rebalance=rebalance,
        automated=automated,
        requires_approval=approval,
        lead_time_h=lead_time,
        rebalance_weight=weight,
        capacity_min=least,
        capacity_max=most,
        manual=manual,
        approval=approved,
        reason=reason,
    )


def _load_tests(source: Source, words: Vocabulary, problems: Problems) -> LoadTests:
    """Return the points of throughput and utilisation, per unit of a service's own capacity."""
    table = WorldTable(
        source,
        "load_tests",
        problems,
        fields={
            "service": "name",
            "region": "name",
            "hardware_type": "name",
            "capacity": "number",
            "throughput": "number",
            "utilisation": "number",
            "utilisation_max": "number",
        },
        optional=True,
    )
    placement = placements_of(table, words)
    table.known("region", words.regions, "region")
    service, capacity = words.placement_service[placement], table.numbers("capacity")
    throughput, utilisation = table.numbers("throughput"), table.numbers("utilisation")
    table.bad_rows(capacity <= 0, "capacity", "is not above 0")
    table.bad_rows(utilisation > 1, "utilisation", "is a share and may not be above 1")
    stated = table.optional_numbers("utilisation_max", np.nan)
    table.bad_rows((stated <= 0) | (stated > 1), "utilisation_max", "is not above 0 and at most 1")
    limit = np.full(len(words.services), np.nan)
    limit[service[np.isfinite(stated)]] = stated[np.isfinite(stated)]
    table.bad_rows(np.isfinite(stated) & (limit[service] != stated), "utilisation_max", "differs within a service")
    return LoadTests(
        service=service,
        throughput=throughput / np.where(capacity > 0, capacity * words.placement_ratio[placement], 1.0),
        utilisation=utilisation,
        utilisation_max=limit,
    )


def placements_of(table: WorldTable, words: Vocabulary) -> Indices:
    """Return the (N,) placement of each row: the service on the type that the row names."""
    H = len(words.hardware_types)
    service = table.known("service", words.services, "service")
    kind = table.known("hardware_type", words.hardware_types, "hardware type")
    of = np.full(len(words.services) * H, -1, np.int32)
    of[words.placement_service.astype(np.int64) * H + words.placement_type] = np.arange(len(words.placement_service))
    found = of[service.astype(np.int64) * H + kind]
    table.bad_rows(
        found < 0, "hardware_type", "is neither the service's own type nor one that fungibility allows for it"
    )
    return np.asarray(np.maximum(found, 0))
