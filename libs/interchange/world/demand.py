"""Read and write demand, demand_gateways and demand_services: sums of traces, in place of spans."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from libs.domain.demand import GROUPS, METRICS, Demand
from libs.domain.world import Vocabulary
from libs.interchange.files.errors import Problems
from libs.interchange.files.tables import Source, has_file
from libs.interchange.files.world_table import WorldTable

_COUNTS = ("spans", "attributed", "orphaned", "cpu_stated")


def dump_demand(words: Vocabulary, demand: Demand) -> dict[str, bytes]:
    """Return the files by name. Demand has its rows and columns in the order of `words`. Call edges are left out."""
    cost = {
        metric: np.nonzero(demand.cost[metric])  # all other demand is zero
        for metric in METRICS
    }
    group, service, product = (np.concatenate([cost[m][axis] for m in METRICS]) for axis in range(3))
    by_product = np.indices(demand.gateway.shape)
    return {
        "demand.parquet": _parquet(
            metric=np.repeat(METRICS, [len(cost[m][0]) for m in METRICS]),
            trace_group=group.astype(float),
            service=words.services[service],
            product=words.products[product],
            cost=np.concatenate([demand.cost[m][cost[m]] for m in METRICS]),
        ),
        "demand_gateways.parquet": _parquet(
            trace_group=by_product[0].ravel().astype(float),
            product=words.products[by_product[1].ravel()],
            requests=demand.gateway.ravel(),
        ),
        "demand_services.parquet": _parquet(
            service=words.services, **{name: getattr(demand, name).astype(float) for name in _COUNTS}
        ),
    }


def load_demand(source: Source, words: Vocabulary) -> Demand | None:
    """Return the sums of traces in the order of `words`; None if the source has none.

    Raises InterchangeError.
    """
    if not any(has_file(source, f"demand.{ending}") for ending in ("parquet", "csv")):
        return None
    problems = Problems()
    S, P = len(words.services), len(words.products)
    found = Demand.none(S, P)
    table = WorldTable(
        source,
        "demand",
        problems,
        fields={"metric": "name", "trace_group": "number", "service": "name", "product": "name", "cost": "number"},
    )
    metric = table.choices("metric", METRICS, METRICS[0])
    group, cost = _groups(table), table.numbers("cost")
    service = table.known("service", words.services, "service")
    product = table.known("product", words.products, "product")
    problems.raise_any()
    for name in METRICS:
        rows = metric == name
        np.add.at(found.cost[name], (group[rows], service[rows], product[rows]), cost[rows])
    table = WorldTable(
        source,
        "demand_gateways",
        problems,
        fields={"trace_group": "number", "product": "name", "requests": "number"},
    )
    at = _groups(table), table.known("product", words.products, "product")
    np.add.at(found.gateway, at, table.numbers("requests"))
    table = WorldTable(
        source, "demand_services", problems, fields={"service": "name", **dict.fromkeys(_COUNTS, "number")}
    )
    service = table.known("service", words.services, "service")
    counts = [np.bincount(service, table.numbers(name), S).astype(np.float64) for name in _COUNTS]
    problems.raise_any()
    spans, attributed, orphaned, cpu_stated = counts
    return replace(found, spans=spans, attributed=attributed, orphaned=orphaned, cpu_stated=cpu_stated)


def _groups(table: WorldTable) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    found = table.numbers("trace_group")
    table.bad_rows((found >= GROUPS) | (found != np.floor(found)), "trace_group", f"is not from 0 to {GROUPS - 1}")
    return np.clip(np.nan_to_num(found), 0, GROUPS - 1).astype(np.intp)


def _parquet(**columns: np.ndarray[tuple[int], np.dtype[np.generic]]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({name: pa.array(values.tolist()) for name, values in columns.items()}), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content
