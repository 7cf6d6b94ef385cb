"""Build small worlds: random arrays for the joint program, and a folder of files with a known answer."""

import csv
import json

import numpy as np

from libs.domain.load_tests import LoadTests
from libs.domain.world import FluxPolicy, PlanningInputs, ServiceControls, ServiceModels, Vocabulary


def names(prefix, count):
    return np.array([f"{prefix}-{i}" for i in range(count)], object)


def random_world(seed, *, services=6, products=3, regions=4, steps=2, types=2, several=(), policy=None, supply=1.2):
    """several: (service, hardware type, ratio) of placements beyond a service's own."""
    rng = np.random.default_rng(seed)
    S, P, R, T, H = services, products, regions, steps, types
    kind = rng.integers(0, H, S)
    K = S + len(several)
    words = Vocabulary(
        products=names("product", P),
        regions=names("region", R),
        hardware_types=names("hw", H),
        services=names("service", S),
        service_type=kind.astype(np.int32),
        placement_service=np.array([*range(S), *(s for s, _, _ in several)], np.int32),
        placement_type=np.array([*kind, *(h for _, h, _ in several)], np.int32),
        placement_ratio=np.array([1.0] * S + [ratio for _, _, ratio in several]),
    )
    presence = rng.dirichlet(np.full(R, 5.0), P)
    attribution = rng.dirichlet(np.full(P, 0.7), S)
    capacity = rng.lognormal(3, 0.5, S)
    baseline = np.zeros((K, R))
    baseline[:S] = capacity[:, None] * (attribution @ presence) * rng.uniform(0.85, 1.15, (S, R))
    models = ServiceModels(
        modelled=np.ones(S, bool),
        metric=np.full(S, "cpu", object),
        capacity=capacity,
        attribution=attribution,
        baseline=baseline,
        presence=presence,
        error=np.full(S, 0.01),
        sampling=np.full(S, 0.01),
        throughput=1000.0 * capacity,
        coverage=np.ones(S),
        spans=np.full(S, 1000),
        reasons=np.array([()] * S + [None], object)[:S],
    )
    used = np.stack([baseline[:S][kind == h].sum(0) for h in range(H)])
    growth = np.where(rng.random((T, S)) < 0.4, 0.03 * capacity * np.arange(1, T + 1)[:, None], 0.0)
    shrink = np.ones(R)
    shrink[rng.integers(R)] = 0.8
    inputs = PlanningInputs(
        step=np.arange(1, T + 1),
        supply=np.tile((used * supply + 0.05 * used.mean()) * shrink, (T, 1, 1)),
        growth=growth,
        growth_priority=np.full((T, S), np.inf),
        traffic_growth=0.01 * np.arange(1, T + 1)[:, None] * (np.arange(P) % 2),
        ledger=np.zeros((T, K, R)),
        shifts=np.zeros((P, R)),
        presence_min=np.zeros((P, R)),
        presence_max=np.full((P, R), np.inf),
        controls=controls(S, K, R, rebalance=rng.random(S) < 0.7),
        load_tests=no_load_tests(S),
        policy=policy or FluxPolicy(),
    )
    return words, models, inputs


def no_load_tests(services):
    return LoadTests(
        service=np.zeros(0, np.int32),
        throughput=np.zeros(0),
        utilisation=np.zeros(0),
        utilisation_max=np.full(services, np.nan),
    )


def controls(S, K, R, **given):
    fields = {
        "rebalance": np.ones(S, bool),
        "automated": np.ones(S, bool),
        "requires_approval": np.zeros(S, bool),
        "lead_time_h": np.zeros(S),
        "rebalance_weight": np.ones((K, R)),
        "capacity_min": np.zeros((K, R)),
        "capacity_max": np.full((K, R), np.inf),
        "manual": np.zeros((K, R), bool),
        "approval": np.zeros((K, R), bool),
        "reason": np.full((K, R), "", object),
    }
    return ServiceControls(**(fields | given))


REGIONS, PRODUCTS = ("east", "west", "north"), ("shop", "feed")
GATEWAY = {"shop": "shop-front", "feed": "feed-front"}
SHARE = {"shop": (0.5, 0.3, 0.2), "feed": (0.2, 0.3, 0.5)}
RATE = {"shop": 1000.0, "feed": 500.0}
COST = {"shop-front": {"shop": 2e6}, "feed-front": {"feed": 3e6}, "store": {"shop": 1e6, "feed": 4e6}}
"""Instructions per request of a product in a service: a third of store's work is for shop."""


def write_table(folder, name, header, rows):
    with (folder / f"{name}.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])


def write_world(folder, *, traces=240, seed=0):
    """Write a world whose store is used 1/3 by shop and 2/3 by feed. Two days, a sample every 20 minutes, peak at
    noon.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    wave = [0.5 + 0.5 * np.exp(-(((m % 1440) - 720) ** 2) / 40_000) for m in range(0, 2880, 20)]
    usage, traffic = [], []
    for i, minute in enumerate(range(0, 2880, 20)):
        level = {"shop": wave[i], "feed": 0.5 + 0.5 * wave[i]}
        for r, region in enumerate(REGIONS):
            rate = {p: RATE[p] * SHARE[p][r] * level[p] for p in PRODUCTS}
            traffic += [[minute, p, region, rate[p]] for p in PRODUCTS]
            for service, cost in COST.items():
                used = sum(rate[p] * c for p, c in cost.items()) / 1e9
                usage.append([minute, service, region, "compute", used * rng.lognormal(0, 0.005)])
    write_table(folder, "usage", ["minute", "service", "region", "hardware_type", "used"], usage)
    write_table(folder, "traffic", ["minute", "product", "region", "requests_per_s"], traffic)
    write_table(folder, "events", ["region", "kind", "start_minute", "end_minute"], [["east", "drain_test", 700, 740]])
    write_table(
        folder, "gateways", ["product", "service", "operation"], [[p, GATEWAY[p], f"GET /{p}"] for p in PRODUCTS]
    )
    write_table(
        folder,
        "services",
        ["service", "hardware_type", "rebalance", "automated", "requires_approval"],
        [[s, "compute", 1, 1, int(s == "store")] for s in COST],
    )
    supply = [[t, region, "compute", 6.0 if region != "east" else 3.0] for t in (1, 2) for region in REGIONS]
    write_table(folder, "supply", ["step", "region", "hardware_type", "capacity"], supply)
    write_table(folder, "growth", ["step", "service", "hardware_type", "capacity"], [[1, "store", "compute", 0.1]])
    write_table(folder, "traffic_growth", ["step", "product", "growth"], [[2, "feed", 0.02]])
    write_table(folder, "ledger", ["step", "kind", "service", "region", "hardware_type", "delta"], [])
    (folder / "policy.json").write_text(json.dumps({"e3_deficit": 1000.0}))
    with (folder / "traces.jsonl").open("w") as stream:
        for number in range(traces):
            stream.write(json.dumps(export_request(rng, PRODUCTS[number % 2], number)) + "\n")
    return folder


def export_request(rng, product, number):
    """Return one trace of a request: the gateway calls the store once."""
    trace = f"{number + 1:032x}"
    root = span(trace, "1" * 16, "", f"GET /{product}", int(COST[GATEWAY[product]][product] * rng.lognormal(0, 0.1)))
    root["attributes"].append({"key": "sampling.probability", "value": {"doubleValue": 0.01}})
    child = span(trace, "2" * 16, "1" * 16, "Get", int(COST["store"][product] * rng.lognormal(0, 0.1)))
    return {"resourceSpans": [resource(GATEWAY[product], [root]), resource("store", [child])]}


def span(trace, identifier, parent, name, cpu):
    found = {
        "traceId": trace,
        "spanId": identifier,
        "name": name,
        "kind": 2,
        "startTimeUnixNano": "1700000000000000000",
        "endTimeUnixNano": "1700000000005000000",
        "attributes": [{"key": "cpu.instructions", "value": {"intValue": str(cpu)}}],
    }
    return found | ({"parentSpanId": parent} if parent else {})


def resource(service, spans):
    attributes = [{"key": "service.name", "value": {"stringValue": service}}]
    return {"resource": {"attributes": attributes}, "scopeSpans": [{"spans": spans}]}
