"""Read world folders: names, measurements and planning inputs as arrays. docs/flux.md describes every file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools, Floats, Ints, Names
from libs.domain.world import Observations, Vocabulary
from libs.interchange.files.errors import InterchangeError, Problem, Problems
from libs.interchange.files.tables import Source
from libs.interchange.files.world_table import Kind, WorldTable
from libs.interchange.world.planning_inputs import placements_of

SHARES_SUM_TOLERANCE = 1e-3
CELLS_MAX = 2_000_000_000
"""Largest size of one table of measurements in memory, in bytes. Coarser samples make it smaller."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gateways:
    """The entry points of products: (service, operation) -> index of the product."""

    products: Names
    operations: dict[tuple[str, str], int]


def load_gateways(source: Source) -> Gateways:
    """Read gateways.csv. Raises InterchangeError."""
    problems = Problems()
    table = WorldTable(source, "gateways", problems, fields={"product": "name", "service": "name", "operation": "name"})
    products, code = table.codes("product")
    services, operations = table.strings("service").names, table.strings("operation").names
    problems.raise_any()
    found: dict[tuple[str, str], int] = {}
    for row, (service, operation, product) in enumerate(zip(services, operations, code.tolist(), strict=True)):
        if found.setdefault((service, operation), product) != product:
            problems.add(table.file, "this operation is the entry point of another product too", row=row)
    if not found:
        problems.add(table.file, "names no entry point, so no span belongs to a product")
    problems.raise_any()
    return Gateways(products=products, operations=found)


def load_vocabulary(source: Source) -> Vocabulary:
    """Return the names in gateways.csv, services.csv, supply.csv and fungibility.csv. Raises InterchangeError."""
    problems = Problems()
    products = load_gateways(source).products
    services = WorldTable(source, "services", problems, fields={"service": "name", "hardware_type": "name"})
    supply = WorldTable(source, "supply", problems, fields={"region": "name", "hardware_type": "name"})
    names, code = services.codes("service")
    services.unique("service", code.astype(np.int64), "this service")
    regions, _ = supply.codes("region")
    types, _ = supply.codes("hardware_type")
    for table, found, what in ((services, names, "service"), (supply, regions, "region")):
        if not len(found):
            problems.add(table.file, f"names no {what}, so there is nothing to plan")
    problems.raise_any()
    kind = services.known("hardware_type", types, "hardware type")
    problems.raise_any()
    order = np.argsort(code)
    rules = WorldTable(
        source,
        "fungibility",
        problems,
        fields={"service": "name", "hardware_type": "name", "ratio": "number"},
        optional=True,
    )
    service, to, ratio = (
        rules.known("service", names, "service"),
        rules.known("hardware_type", types, "hardware type"),
        rules.numbers("ratio"),
    )
    rules.bad_rows(ratio <= 0, "ratio", "is not above 0")
    rules.bad_rows(to == kind[order][service], "hardware_type", "is the service's own type")
    rules.unique("hardware_type", service.astype(np.int64) * len(types) + to, "this pair")
    problems.raise_any()
    return Vocabulary(
        products=products,
        regions=regions,
        hardware_types=types,
        services=names,
        service_type=kind[order],
        placement_service=np.concatenate([np.arange(len(names), dtype=np.int32), service]),
        placement_type=np.concatenate([kind[order], to]),
        placement_ratio=np.concatenate([np.ones(len(names)), ratio]),
    )


def load_cost_models(source: Source, words: Vocabulary) -> Floats:
    """Read cost_models: (S, P) attributions that owners state themselves; nan for services without one.

    Raises InterchangeError.
    """
    problems = Problems()
    fields: dict[str, Kind] = {"service": "name", "product": "name", "share": "number"}
    table = WorldTable(source, "cost_models", problems, fields=fields, optional=True)
    service = table.known("service", words.services, "service")
    product = table.known("product", words.products, "product")
    table.unique("product", service.astype(np.int64) * len(words.products) + product, "this service and product")
    found = np.zeros((len(words.services), len(words.products)))
    found[service, product] = table.numbers("share")
    off = np.abs(found.sum(1) - 1.0)[service] > SHARES_SUM_TOLERANCE
    table.bad_rows(off, "share", "does not sum to 1 over the products of this service")
    problems.raise_any()
    found[~np.isin(np.arange(len(found)), service)] = np.nan
    return found


def load_observations(source: Source, words: Vocabulary) -> Observations:
    """Read usage, traffic and events. Raises InterchangeError."""
    problems = Problems()
    usage = WorldTable(
        source,
        "usage",
        problems,
        fields={"minute": "number", "service": "name", "region": "name", "hardware_type": "name", "used": "number"},
    )
    traffic = WorldTable(
        source,
        "traffic",
        problems,
        fields={"minute": "number", "product": "name", "region": "name", "requests_per_s": "number"},
    )
    R, K = len(words.regions), len(words.placement_service)
    placement = placements_of(usage, words)
    product = traffic.known("product", words.products, "product")
    used_in, asked_in = (t.known("region", words.regions, "region") for t in (usage, traffic))
    used_at, asked_at = usage.numbers("minute"), traffic.numbers("minute")
    used, asked = usage.numbers("used"), traffic.numbers("requests_per_s")
    problems.raise_any()
    minute = np.unique(np.concatenate([used_at, asked_at]))
    minute = minute[~_event_minutes(source, minute, problems)]
    problems.raise_any()
    if not len(minute):
        raise InterchangeError([Problem("usage.csv", None, "minute", "no minute is left outside of events")])
    if max(K, len(words.products)) * R * len(minute) * 8 > CELLS_MAX:
        raise InterchangeError([Problem("usage.csv", None, None, "is too fine for memory: give coarser samples")])
    return Observations(
        minute=minute.astype(np.int64),
        usage=_cube(placement, used_in, used_at, used, (K, R), minute),
        traffic=_cube(product, asked_in, asked_at, asked, (len(words.products), R), minute),
    )


def _event_minutes(source: Source, minute: Floats, problems: Problems) -> Bools:
    """Return the (M,) mask of minutes with a drain or load test in any region. They are excluded for all regions."""
    events = WorldTable(
        source, "events", problems, fields={"start_minute": "number", "end_minute": "number"}, optional=True
    )
    start, end = events.numbers("start_minute"), events.numbers("end_minute")
    events.bad_rows(end < start, "end_minute", "is before start_minute")
    return in_events(minute, start, end)


def in_events(minute: Floats | Ints, start: Floats, end: Floats) -> Bools:
    """Return the (M,) mask of minutes in any event: from its start on, and before its end."""
    begun = np.searchsorted(np.sort(start), minute, "right")
    return np.asarray(begun > np.searchsorted(np.sort(end), minute, "right"))


def _cube(
    first: np.ndarray[tuple[int], np.dtype[np.generic]],
    region: np.ndarray[tuple[int], np.dtype[np.generic]],
    at: Floats,
    value: Floats,
    shape: tuple[int, int],
    minute: Floats,
) -> Floats:
    """Return the (A, R, M) values by place and time; nan where no row has a value. Rows outside of `minute` are left
    out.
    """
    slot = np.minimum(np.searchsorted(minute, at), len(minute) - 1)
    kept = minute[slot] == at
    cube = np.full((*shape, len(minute)), np.nan)
    cube[np.asarray(first)[kept], np.asarray(region)[kept], slot[kept]] = value[kept]
    return cube
