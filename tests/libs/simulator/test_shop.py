"""The shop has the published demands, and its spans, use and traffic agree with each other."""

import json

import numpy as np
import pytest

from libs.interchange.traces.intake import Intake
from libs.interchange.traces.otlp_export import read_export
from libs.interchange.traces.otlp_json import OTLP_JSON
from libs.simulator.shop import DAY_MINUTES, PEAK_MINUTE, SAMPLE_MINUTES, Shop, gateways, wave
from libs.simulator.teastore import PRODUCTS, calls_of, cpu_per_request, cpu_seconds, services

REGIONS = ("east", "west")


def a_shop() -> Shop:
    shares = {product: {"east": 0.75, "west": 0.25} for product in PRODUCTS}
    return Shop(regions=REGIONS, peak_rps=dict.fromkeys(PRODUCTS, 1000.0), seed=1, shares={0.0: shares})


def rows(text: str) -> list[dict[str, str]]:
    heading, *lines = text.splitlines()
    return [dict(zip(heading.split(","), line.split(","), strict=True)) for line in lines]


def test_every_published_endpoint_has_one_demand_and_every_call_has_one() -> None:
    assert len(cpu_seconds()) == 32
    assert services() == ("auth", "image", "persistence", "recommender", "webui")
    for pages in PRODUCTS.values():
        assert sum(pages.values()) == pytest.approx(1)
        for page in pages:
            assert all((call.service, call.endpoint) in cpu_seconds() for call in calls_of(page))


def test_a_request_takes_the_demands_of_all_its_calls() -> None:
    calls = calls_of("placeOrder")
    assert [(c.service, c.endpoint, c.caller) for c in calls] == [
        ("webui", "placeOrder", None),
        ("auth", "placeOrder", 0),
        ("persistence", "createOrder", 1),
        ("persistence", "createOrderItem", 1),
    ]
    assert cpu_per_request("account")["auth"] == pytest.approx(0.4 * 0.011641 + 0.4 * 0.000573 + 0.2 * 0.000373)


def test_use_follows_the_traffic_and_the_traffic_its_shifts() -> None:
    shop = a_shop()
    shop.move(12 * 60.0, "browse", "east", "west", 0.5)
    usage, traffic = shop.measured(0, DAY_MINUTES)
    browse = {(r["minute"], r["region"]): float(r["requests_per_s"]) for r in rows(traffic) if r["product"] == "browse"}
    assert browse["715", "east"] == pytest.approx(750 * wave(715), rel=1e-3)
    assert browse["720", "east"] == pytest.approx(250, rel=1e-3)
    assert len(rows(usage)) == DAY_MINUTES // SAMPLE_MINUTES * len(services()) * len(REGIONS)
    recommender = [float(r["used"]) for r in rows(usage) if r["service"] == "recommender" and r["minute"] == "720"]
    by_browse = 1000 * cpu_per_request("browse")["recommender"]
    by_checkout = 1000 * cpu_per_request("checkout")["recommender"]
    wanted = [0.25 * by_browse + 0.75 * by_checkout, 0.75 * by_browse + 0.25 * by_checkout]
    np.testing.assert_allclose(recommender, wanted, rtol=0.05)


def test_measurements_of_parts_of_a_day_leave_out_no_minute() -> None:
    parts = [a_shop().measured(first, first + 60)[1] for first in range(0, DAY_MINUTES, 60)]
    assert sorted(row["minute"] for part in parts for row in rows(part)) == sorted(
        row["minute"] for row in rows(a_shop().measured(0, DAY_MINUTES)[1])
    )
    assert wave(PEAK_MINUTE) == 1


def test_spans_depend_on_the_minute_and_not_on_the_date() -> None:
    first, later, next_hour = (
        [
            int(span["endTimeUnixNano"]) - zero_ns
            for part in a_shop().spans(5, minute, zero_ns=zero_ns)["resourceSpans"]
            for span in part["scopeSpans"][0]["spans"]
        ]
        for minute, zero_ns in ((60, 10**18), (60, 2 * 10**18), (120, 10**18))
    )
    assert first == later
    assert first != next_hour
    assert min(first) > 3600 * 10**9


def test_spans_are_an_otlp_export_whose_traces_are_whole() -> None:
    export = a_shop().spans(40, 0, zero_ns=10**18)
    products = {product: number for number, product in enumerate(PRODUCTS)}
    intake = Intake(gateways={(g["service"], g["operation"]): products[g["product"]] for g in gateways()})
    found = read_export(OTLP_JSON, json.dumps(export).encode(), intake)
    assert found.malformed == 0
    assert set(found.services) == set(services())
    spans = [span for part in export["resourceSpans"] for span in part["scopeSpans"][0]["spans"]]
    ids = {span["spanId"] for span in spans}
    assert len(ids) == len(spans)
    assert all(span["parentSpanId"] in ids | {""} for span in spans)
    assert sum(span["parentSpanId"] == "" for span in spans) == 40 * len(PRODUCTS)
