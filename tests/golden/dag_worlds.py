"""Build worlds with plans made by hand, in round numbers, so that no solver decides anything."""

from collections.abc import Mapping, Sequence

import numpy as np

from libs.domain.placement_plan import PlacementPlan
from libs.domain.world import FluxPolicy, PlanningInputs, ServiceModels, Vocabulary
from tests.builders.world import controls, no_load_tests

REGIONS = ("east", "west", "north")
World = tuple[Vocabulary, ServiceModels, PlanningInputs, PlacementPlan]


def planned_world(
    *,
    traffic: Mapping[str, Sequence[Sequence[float]]],
    services: Mapping[str, Mapping[str, float]],
    kinds: Mapping[str, str] | None = None,
    growth: Mapping[tuple[str, str], float] | None = None,
    low_confidence: Sequence[str] = (),
    **control: Sequence[str] | Mapping[str, float],
) -> World:
    """A world, and a plan that gives every service exactly the capacity for the planned traffic.

    traffic        product -> its shares by region, now and planned
    services       service -> product -> capacity for all traffic of the product
    kinds          service -> hardware type; `compute` for all others
    growth         (service, region) -> capacity to add at the end
    control        control -> the services for which it is set, or service -> value
    """
    products, names, S = tuple(traffic), tuple(services), len(services)
    kind = [(kinds or {}).get(name, "compute") for name in names]
    types = sorted(set(kind))
    phi = np.array([[services[s].get(p, 0.0) for p in products] for s in names])
    capacity = phi.sum(1)
    now, planned = (np.array([traffic[p][moment] for p in products]) for moment in (0, 1))
    pools, K = (1, len(types), len(REGIONS)), (S, len(REGIONS))
    words = Vocabulary(
        products=np.array(products, object),
        regions=np.array(REGIONS, object),
        hardware_types=np.array(types, object),
        services=np.array(names, object),
        service_type=np.array([types.index(k) for k in kind], np.int32),
        placement_service=np.arange(S, dtype=np.int32),
        placement_type=np.array([types.index(k) for k in kind], np.int32),
        placement_ratio=np.ones(S),
    )
    models = ServiceModels(
        modelled=np.ones(S, bool),
        metric=np.full(S, "cpu", object),
        capacity=capacity,
        attribution=phi / capacity[:, None],
        baseline=phi @ now,
        presence=now,
        error=np.full(S, 0.01),
        sampling=np.full(S, 0.01),
        throughput=np.ones(S),
        coverage=np.ones(S),
        spans=np.full(S, 1000),
        reasons=np.array([*[("FewSpans",) if name in low_confidence else () for name in names], None], object)[:S],
    )
    grown = np.zeros(K)
    for (service, region), added in (growth or {}).items():
        grown[names.index(service), REGIONS.index(region)] = added
    inputs = PlanningInputs(
        step=np.array([1]),
        supply=np.zeros(pools),
        growth=grown.sum(1)[None],
        growth_priority=np.full((1, S), np.inf),
        traffic_growth=np.zeros((1, len(products))),
        ledger=np.zeros((1, *K)),
        shifts=np.zeros(now.shape),
        presence_min=np.zeros(now.shape),
        presence_max=np.full(now.shape, np.inf),
        controls=controls(S, *K, **{name: _by_service(names, given) for name, given in control.items()}),
        load_tests=no_load_tests(S),
        policy=FluxPolicy(),
    )
    plan = PlacementPlan(
        step=np.array([1]),
        traffic=planned[None],
        capacity=(phi @ planned)[None],
        growth=grown[None],
        residual=np.zeros((1, *K)),
        granted=np.ones((1, S)),
        deficit=np.zeros(pools),
        spare=np.zeros(pools),
        double_occupancy=np.zeros(pools),
    )
    return words, models, inputs, plan


def _by_service(names: tuple[str, ...], given: Sequence[str] | Mapping[str, float]) -> np.ndarray:
    if isinstance(given, Mapping):
        return np.array([given.get(name, 0.0) for name in names])
    return np.array([name in given for name in names])
