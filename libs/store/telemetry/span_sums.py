"""Daily sums of attributed spans: the input of service models and of the telemetry summary."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

import numpy as np
import sqlalchemy as sa

from libs.domain.arrays import Floats, Ints
from libs.domain.calls import Calls
from libs.domain.demand import GROUPS, METRICS, Demand
from libs.domain.telemetry import SpanSums
from libs.domain.world import Vocabulary
from libs.store.platform.bulk import copy_out
from libs.store.platform.database import Transaction
from libs.store.platform.records import add_records, days, vector
from libs.store.tables import (
    call_sums,
    demand_sums,
    entry_sums,
    span_sums,
    trace_days,
    traced_products,
    traced_services,
)
from libs.store.telemetry.traced_names import are_named, forget_names, load_products, load_services

_SERVICE, _PRODUCT = "traced_service_id", "traced_product_id"
_GROUPED = vector(GROUPS)


def add_span_sums(tx: Transaction, day: date, sums: SpanSums, *, rejected: int) -> None:
    """Add `sums`, the result of one sweep over waiting spans, to the stored sums of `day`. Sums of 0 get no row."""
    demand, service, product = sums.demand, sums.service_id, sums.product_id
    # A process may have cached a name that was deleted since. Drop the spans of such a name.
    named, caused = are_named(tx, traced_services, service), are_named(tx, traced_products, product)
    costs = sum(np.abs(demand.cost[m]).sum(0) for m in METRICS)
    s, p = np.nonzero(costs * np.outer(named, caused))
    cost = {m: np.ascontiguousarray(demand.cost[m][:, s, p].T) for m in METRICS}
    add_records(tx, demand_sums, {"day": days(day, len(s)), _SERVICE: service[s], _PRODUCT: product[p], **cost})
    entries = np.flatnonzero(demand.gateway.sum(0) * caused)
    requests = np.ascontiguousarray(demand.gateway[:, entries].T)
    add_records(tx, entry_sums, {"day": days(day, len(entries)), _PRODUCT: product[entries], "requests": requests})
    counts = {name: getattr(demand, name)[named] for name in ("spans", "attributed", "orphaned", "cpu_stated")}
    add_records(tx, span_sums, {"day": days(day, int(named.sum())), _SERVICE: service[named], **counts})
    edges = demand.edges
    both = named[edges.caller] & named[edges.callee]
    caller, callee = service[edges.caller[both]], service[edges.callee[both]]
    calls = {"caller_id": caller, "callee_id": callee, "calls": edges.count[both]}
    add_records(tx, call_sums, {"day": days(day, len(caller)), **calls})
    totals = {"received": sums.settled.sum(), "rejected": rejected, "late": sums.late, "duplicates": demand.duplicates}
    if any(totals.values()):
        row = {name: np.array([value], np.float64) for name, value in totals.items()}
        add_records(tx, trace_days, {"day": days(day, 1), **row})


def load_demand(tx: Transaction, words: Vocabulary, first: date, last: date) -> tuple[Demand, int]:
    """Return the demand that was summed on the days `first` to `last`. Rows and columns are the services and products
    of the vocabulary `words`.

    Return also the number of stored sums that were left out because `words` lacks their service or product.
    """
    services, products = _rows(load_services(tx, list(words.services)), words), _columns(tx, words)
    S, P = len(words.services), len(words.products)
    between = {"first": first, "last": last}
    where = "FROM demand_sums WHERE day BETWEEN %(first)s AND %(last)s"
    found = copy_out(
        tx,
        f"SELECT {_SERVICE}, {_PRODUCT}, {', '.join(METRICS)} {where}",
        between,
        {_SERVICE: ">i8", _PRODUCT: ">i8", **dict.fromkeys(METRICS, _GROUPED)},
    )
    s, p = _find(services, found[_SERVICE]), _find(products, found[_PRODUCT])
    known = (s >= 0) & (p >= 0)
    cost = {}
    for metric in METRICS:
        total = np.zeros((S, P, GROUPS))
        np.add.at(total, (s[known], p[known]), found[metric]["items"]["value"][known])
        cost[metric] = np.ascontiguousarray(total.transpose(2, 0, 1))
    counts = _counts(tx, services, S, between)
    demand = Demand(
        cost=cost,
        gateway=_gateway(tx, products, P, between),
        edges=_edges(tx, services, between),
        duplicates=_duplicates(tx, between),
        **counts,
    )
    return demand, int((~known).sum())


def forget_span_sums(tx: Transaction, before: date) -> None:
    """Delete all sums of days before `before`. Delete also the names of services and products that were first sent
    before `before` and have no sums left.
    """
    for table in (demand_sums, entry_sums, span_sums, call_sums, trace_days):
        tx.execute(sa.delete(table).where(table.c.day < before))
    forget_names(tx, named_before=datetime.combine(before, time(), UTC))


def _gateway(tx: Transaction, products: Ints, P: int, between: dict[str, date]) -> Floats:
    query = f"SELECT {_PRODUCT}, requests FROM entry_sums WHERE day BETWEEN %(first)s AND %(last)s"
    found = copy_out(tx, query, between, {_PRODUCT: ">i8", "requests": _GROUPED})
    p = _find(products, found[_PRODUCT])
    total = np.zeros((P, GROUPS))
    np.add.at(total, p[p >= 0], found["requests"]["items"]["value"][p >= 0])
    return np.ascontiguousarray(total.T)


def _counts(tx: Transaction, services: Ints, S: int, between: dict[str, date]) -> dict[str, Floats]:
    names = ("spans", "attributed", "orphaned", "cpu_stated")
    query = f"SELECT {_SERVICE}, {', '.join(names)} FROM span_sums WHERE day BETWEEN %(first)s AND %(last)s"
    found = copy_out(tx, query, between, {_SERVICE: ">i8", **dict.fromkeys(names, ">f8")})
    s = _find(services, found[_SERVICE])
    totals = {name: np.zeros(S) for name in names}
    for name, total in totals.items():
        np.add.at(total, s[s >= 0], found[name][s >= 0])
    return totals


def _edges(tx: Transaction, services: Ints, between: dict[str, date]) -> Calls:
    query = "SELECT caller_id, callee_id, calls FROM call_sums WHERE day BETWEEN %(first)s AND %(last)s"
    found = copy_out(tx, query, between, {"caller_id": ">i8", "callee_id": ">i8", "calls": ">f8"})
    caller, callee = _find(services, found["caller_id"]), _find(services, found["callee_id"])
    known = (caller >= 0) & (callee >= 0)
    return Calls.summed(caller[known], callee[known], found["calls"][known])


def _duplicates(tx: Transaction, between: dict[str, date]) -> int:
    c = trace_days.c
    query = sa.select(sa.func.coalesce(sa.func.sum(c.duplicates), 0)).where(
        c.day.between(between["first"], between["last"])
    )
    return int(tx.execute(query).scalar_one())


def _rows(known: dict[str, int], words: Vocabulary) -> Ints:
    """Return the (S,) stored ids of the services in `words`; -1 for a service that no trace names."""
    return np.array([known.get(str(name), -1) for name in words.services], np.int64)


def _columns(tx: Transaction, words: Vocabulary) -> Ints:
    known = {name: number for number, name in load_products(tx).items()}
    return np.array([known.get(str(name), -1) for name in words.products], np.int64)


def _find(ids: Ints, wanted: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Ints:
    """Return the index of each wanted id in `ids`; -1: absent."""
    order = np.argsort(ids)
    at = np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)
    return np.where(ids[order[at]] == wanted, order[at], -1)
