"""Demand of owners: sizes, arrivals and lifetimes as in a published trace of requests to a cloud.

Source of azure_vm_2017.json: Azure Public Dataset V1, CC BY 4.0. scripts/derive_demand_table says how it was derived.
Three things are ours and not from the trace: the scale of sizes, the accepted architectures, and resizes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files

import numpy as np

from libs.domain.region_image import RegionImage
from libs.domain.reservation import ReservationSpec
from libs.simulator.hardware import hardware, vcpu_rru
from libs.simulator.quantiles import QuantileTable

_ARCHITECTURES: tuple[tuple[float, frozenset[str]], ...] = (
    (0.6, frozenset({"x86"})),
    (0.1, frozenset({"arm"})),
    (0.3, frozenset({"x86", "arm"})),
)
"""Pairs of a share of the requests and the CPU architectures that they accept."""
_RESIZED_SHARE = 0.2
_RESIZE_FACTORS = (0.5, 0.75, 1.25, 1.5)
_OWNERS = 20


class DemandKind(StrEnum):
    """The change that an owner makes to a reservation."""

    CREATE = "create"
    RESIZE = "resize"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandEvent:
    """A change that an owner asks for, `at_s` seconds after the start; `spec` is None for a delete."""

    at_s: float
    kind: DemandKind
    reservation: str
    owner: str
    spec: ReservationSpec | None


def draw_demand(
    image: RegionImage,
    *,
    duration_s: float,
    requests_per_day: float | None = None,
    lifetimes: float = 1.0,
    load: float = 0.6,
    seed: int = 0,
) -> tuple[DemandEvent, ...]:
    """Return the events in order of time. The same arguments give the same events.

    requests_per_day    None: the number of the trace
    lifetimes           factor on the lifetimes of the trace, which are those of virtual machines
    load                share of the region's RRU asked for at a time, in steady state

    The sizes of the trace are scaled to reach the load (Little's law).
    """
    trace = _trace()
    random = np.random.default_rng([seed, 2])
    per_day = trace.requests_per_day if requests_per_day is None else requests_per_day
    expected = per_day * duration_s / 86_400
    # Draw more than enough gaps. They keep the shape of the trace and are scaled to the mean asked for.
    gaps = trace.interarrival_s.draw(random, int(expected * 2) + 20)
    at_s = np.cumsum(gaps) * (86_400 / per_day / trace.interarrival_s.mean)
    at_s = at_s[at_s < duration_s]
    count = len(at_s)
    concurrent = per_day / 86_400 * trace.lifetime_s.mean * lifetimes
    scale = load * _capacity_rru(image) / (concurrent * trace.size_vcpu.mean)
    capacity_rru = np.maximum(1.0, np.rint(trace.size_vcpu.draw(random, count) * scale))
    ends_s = at_s + lifetimes * trace.lifetime_s.draw(random, count)
    accepted = random.choice(len(_ARCHITECTURES), count, p=[share for share, _ in _ARCHITECTURES])
    owner = random.integers(1, _OWNERS + 1, count)
    resized = random.random(count) < _RESIZED_SHARE
    resize_at = at_s + random.uniform(0.2, 0.8, count) * (ends_s - at_s)
    factor = random.choice(_RESIZE_FACTORS, count)
    events: list[DemandEvent] = []
    for i in range(count):
        architectures = _ARCHITECTURES[accepted[i]][1]
        rru = vcpu_rru(figures for figures in hardware() if figures.architecture in architectures)
        who = {"reservation": f"service-{i + 1:04d}", "owner": f"team-{owner[i]:02d}"}
        spec = ReservationSpec(capacity_rru=float(capacity_rru[i]), rru=rru, msb_spread_limit=0.2)
        events.append(DemandEvent(at_s=float(at_s[i]), kind=DemandKind.CREATE, spec=spec, **who))
        if resized[i] and resize_at[i] < duration_s:
            size = max(1.0, round(spec.capacity_rru * float(factor[i])))
            other = ReservationSpec(capacity_rru=size, rru=rru, msb_spread_limit=0.2)
            events.append(DemandEvent(at_s=float(resize_at[i]), kind=DemandKind.RESIZE, spec=other, **who))
        if ends_s[i] < duration_s:
            events.append(DemandEvent(at_s=float(ends_s[i]), kind=DemandKind.DELETE, spec=None, **who))
    order = {DemandKind.CREATE: 0, DemandKind.RESIZE: 1, DemandKind.DELETE: 2}
    return tuple(sorted(events, key=lambda event: (event.at_s, event.reservation, order[event.kind])))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trace:
    requests_per_day: float
    size_vcpu: QuantileTable
    interarrival_s: QuantileTable
    lifetime_s: QuantileTable


@cache
def _trace() -> _Trace:
    table: Mapping[str, object] = json.loads(files("libs.simulator").joinpath("azure_vm_2017.json").read_text())

    def quantiles(name: str) -> QuantileTable:
        entry = table[name]
        assert isinstance(entry, dict)
        return QuantileTable(entry["quantiles"])

    return _Trace(
        requests_per_day=float(str(table["requests_per_day"])),
        size_vcpu=quantiles("size_vcpu"),
        interarrival_s=quantiles("interarrival_s"),
        lifetime_s=quantiles("lifetime_s"),
    )


def _capacity_rru(image: RegionImage) -> float:
    rru = vcpu_rru()
    snapshot = image.snapshot
    counts = np.bincount(snapshot.servers.hardware_type, minlength=len(snapshot.hardware_types))
    return float(sum(rru[name] * number for name, number in zip(snapshot.hardware_types, counts, strict=True)))
