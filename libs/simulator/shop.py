"""A shop in several regions: where its traffic goes, and what its services use. Made up from the TeaStore's demands."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from libs.simulator.teastore import GATEWAY, PRODUCTS, calls_of, cpu_per_request, services

DAY_MINUTES = 24 * 60
SAMPLE_MINUTES = 5
PEAK_MINUTE = 12 * 60
_NIGHT = 0.45
"""Traffic in the quietest minute of a day, as a share of the peak's."""
_NOISE = 0.01
"""Standard deviation of measured use, as a share of it."""
_SPAN_NOISE = 0.3
_INSTRUCTIONS_PER_S = 1e9
_MINUTE_NS = 60 * 10**9


@dataclass(slots=True, eq=False)
class Shop:
    """The traffic of the shop over regions.

    peak_rps   product -> requests per second at the peak of a day, worldwide
    shares     minute -> product -> region -> share of the product's traffic from this minute on
    """

    regions: tuple[str, ...]
    peak_rps: Mapping[str, float]
    seed: int
    shares: dict[float, dict[str, dict[str, float]]] = field(default_factory=dict)

    def now(self) -> dict[str, dict[str, float]]:
        """Return the present shares."""
        latest: dict[str, dict[str, float]] = self.shares[max(self.shares)]
        return {product: dict(by_region) for product, by_region in latest.items()}

    def move(self, minute: float, product: str, from_region: str, to_region: str, share: float) -> None:
        """Move a share of a product's traffic from one region to another, from a minute on."""
        found = self.now()
        found[product][from_region] -= share
        found[product][to_region] += share
        self.shares[minute] = found

    def measured(self, first: int, end: int) -> tuple[str, str]:
        """Return the tables of usage and of traffic of the minutes from `first` up to `end`, as CSV."""
        usage, traffic = (
            _Table("minute", "service", "region", "hardware_type", "used"),
            _Table("minute", "product", "region", "requests_per_s"),
        )
        random = np.random.default_rng([self.seed, first])
        for minute in range(-(-first // SAMPLE_MINUTES) * SAMPLE_MINUTES, end, SAMPLE_MINUTES):
            shares = self.shares[max(at for at in self.shares if at <= minute)]
            rps = {p: self.peak_rps[p] * wave(minute) for p in PRODUCTS}
            for product, by_region in shares.items():
                for region, share in by_region.items():
                    traffic.add(minute, product, region, f"{rps[product] * share:.3f}")
            for region in self.regions:
                for service in services():
                    used = sum(rps[p] * shares[p][region] * cpu_per_request(p).get(service, 0.0) for p in PRODUCTS)
                    noise = math.exp(_NOISE * random.standard_normal())
                    usage.add(minute, service, region, "compute", f"{used * noise:.4f}")
        return usage.text(), traffic.text()

    def spans(self, traces: int, minute: int, *, zero_ns: int) -> dict[str, Any]:
        """Return an OTLP export request in JSON with this many traces of each product, all of one minute.

        They are the same whenever minute 0 was.
        """
        random, at_ns = np.random.default_rng([self.seed, minute]), zero_ns + minute * _MINUTE_NS
        by_service: dict[str, list[dict[str, Any]]] = {service: [] for service in services()}
        for pages in PRODUCTS.values():
            names, weights = list(pages), list(pages.values())
            for page in random.choice(names, traces, p=weights):
                _add_trace(by_service, str(page), random, at_ns)
        return {
            "resourceSpans": [
                {
                    "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]},
                    "scopeSpans": [{"spans": spans}],
                }
                for service, spans in by_service.items()
            ]
        }


def wave(minute: float) -> float:
    """Return the traffic of a minute as a share of the peak's."""
    phase = 2 * math.pi * (minute - PEAK_MINUTE) / DAY_MINUTES
    return _NIGHT + (1 - _NIGHT) * (1 + math.cos(phase)) / 2


def gateways() -> list[dict[str, str]]:
    """Return the entry points of the products, as rows of the planning input."""
    return [{"product": p, "service": GATEWAY, "operation": page} for p, pages in PRODUCTS.items() for page in pages]


def _add_trace(
    by_service: Mapping[str, list[dict[str, Any]]], page: str, random: np.random.Generator, at_ns: int
) -> None:
    trace, calls = random.bytes(16).hex(), calls_of(page)
    ids = [random.bytes(8).hex() for _ in calls]
    for call, span in zip(calls, ids, strict=True):
        cpu_s = call.cpu_s * math.exp(_SPAN_NOISE * random.standard_normal() - _SPAN_NOISE**2 / 2)
        by_service[call.service].append(
            {
                "traceId": trace,
                "spanId": span,
                "parentSpanId": "" if call.caller is None else ids[call.caller],
                "name": call.endpoint,
                "kind": 2,
                "startTimeUnixNano": str(at_ns),
                "endTimeUnixNano": str(at_ns + int(2e9 * cpu_s)),
                "attributes": [
                    {"key": "cpu.instructions", "value": {"intValue": str(int(_INSTRUCTIONS_PER_S * cpu_s))}}
                ],
            }
        )


class _Table:
    def __init__(self, *columns: str) -> None:
        self._text = io.StringIO()
        self._rows = csv.writer(self._text, lineterminator="\n")
        self._rows.writerow(columns)

    def add(self, *cells: object) -> None:
        self._rows.writerow(cells)

    def text(self) -> str:
        return self._text.getvalue()
