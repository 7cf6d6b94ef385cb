"""A small world to plan: one product, two services in both regions, and two days of measurements.

An ordinary client sets it up before the faults begin. So every plan run has all its inputs, and there is a plan to
carry out.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from soak.caller import Caller
from soak.history import Attempt, Json

PRODUCT, GATEWAY, STORE, OPERATION = "shop", "shop-front", "shop-store", "GET /shop"
RRU = 2.0
"""RRU of one unit of capacity, in the reservations of the services."""
SHORT = 1.0
"""Capacity of a region that is too small for its services, so that the plan moves traffic away."""
_COST = {GATEWAY: 2e6, STORE: 1e6}
"""CPU instructions of a request in each service."""
_SHARE, _RATE_PER_S = (0.6, 0.4), 1000.0
"""Share of the requests by region, and requests per second at noon."""
_DAYS, _EVERY_MIN, _TRACES = 2, 30, 40


def bring_world(caller: Caller, regions: Sequence[str], hardware_type: str, now: datetime) -> None:
    """Put all inputs of a plan, and wait for the first one. Raises RuntimeError if the platform refuses one of them."""
    for name, rows in {
        "gateways": [{"product": PRODUCT, "service": GATEWAY, "operation": OPERATION}],
        "services": [
            {"service": one, "hardware_type": hardware_type, "rebalance": True, "requires_approval": one == STORE}
            for one in _COST
        ],
        "service_reservations": [
            {"service": one, "hardware_type": hardware_type, "reservation": one, "rru_per_unit": RRU} for one in _COST
        ],
        "supply": supply(regions, hardware_type, [SHORT, 6.0]),
    }.items():
        path = f"/v1/planning-inputs/{name}"
        _require(caller.write("put_input", "PUT", path, {"rows": rows}, generation=0), name)
    usage, traffic = ["minute,service,region,hardware_type,used"], ["minute,product,region,requests_per_s"]
    for minute, region, per_s in _rates(regions, now):
        traffic.append(f"{minute},{PRODUCT},{region},{per_s:.4f}")
        usage += [f"{minute},{one},{region},{hardware_type},{per_s * cost / 1e9:.6f}" for one, cost in _COST.items()]
    _require(caller.write("report_usage", "POST", "/v1/usage", csv="\n".join([*usage, ""])), "usage")
    _require(caller.write("report_traffic", "POST", "/v1/traffic", csv="\n".join([*traffic, ""])), "traffic")
    traces = [part for number in range(_TRACES) for part in _trace(number + 1, now)]
    _require(caller.write("export_spans", "POST", "/v1/traces", {"resourceSpans": traces}, key=""), "spans")
    run = _require(caller.write("run_plan", "POST", "/v1/plan-runs", {"dry_run": False}), "first run of a plan")
    while run.body["status"] in ("queued", "running"):
        time.sleep(0.5)
        run = _require(caller.read("get_plan_run", f"/v1/plan-runs/{run.body['plan_run_id']}"), "first run of a plan")


def supply(regions: Sequence[str], hardware_type: str, capacity: Sequence[float]) -> list[Json]:
    """Return the table of the supply of this type in each region, in the next step."""
    return [
        {"step": 1, "region": region, "hardware_type": hardware_type, "capacity": number}
        for region, number in zip(regions, capacity, strict=True)
    ]


def spans_of(service: str, trace: int, spans: Sequence[Json], now: datetime) -> Json:
    """Return one service's part of a trace, as an OpenTelemetry SDK sends it.

    spans   the fields of each span, with spanId
    """
    began_ns = int(now.timestamp() * 1e9)
    times = {"startTimeUnixNano": str(began_ns), "endTimeUnixNano": str(began_ns + 1_000_000)}
    named = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    made = [{"traceId": f"{trace:032x}", "name": OPERATION, **times, **span} for span in spans]
    return {"resource": named, "scopeSpans": [{"spans": made}]}


def _rates(regions: Sequence[str], now: datetime) -> Iterator[tuple[int, str, float]]:
    """Yield (minute, region, requests per second) over past whole days, with a peak at noon."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    first = int((midnight - timedelta(days=_DAYS)).timestamp() // 60)
    for minute in range(first, first + _DAYS * 1440, _EVERY_MIN):
        wave = 0.6 + 0.4 * math.cos(2 * math.pi * ((minute - first) % 1440 - 720) / 1440)
        for region, share in zip(regions, _SHARE, strict=True):
            yield minute, region, _RATE_PER_S * share * wave


def _trace(number: int, now: datetime) -> tuple[Json, Json]:
    """Return a trace in which the gateway calls the store once."""
    ids = (f"{2 * number:016x}", f"{2 * number + 1:016x}")
    root = {"spanId": ids[0], "kind": 2, "attributes": [_int("cpu.instructions", _COST[GATEWAY])]}
    child = {"spanId": ids[1], "kind": 2, "parentSpanId": ids[0]}
    child["attributes"] = [_int("cpu.instructions", _COST[STORE])]
    return spans_of(GATEWAY, number, [root], now), spans_of(STORE, number, [child], now)


def _int(key: str, value: float) -> Json:
    return {"key": key, "value": {"intValue": str(int(value))}}


def _require(answer: Attempt | None, what: str) -> Attempt:
    if answer is None or not answer.done:
        raise RuntimeError(f"the platform did not take the {what} of the world to plan: {answer}")
    return answer
