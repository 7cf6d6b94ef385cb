"""A shard of spans and its demand, as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from libs.domain.calls import Calls
from libs.domain.demand import GROUPS, METRICS, Demand
from libs.domain.span_shard import SpanShard
from libs.domain.spans import Spans
from libs.interchange.job_parts.framing import BYTES_MAX, NotReadable, pack, unpack

_FORM, _ANSWER = "span-shard", "span-shard-demand"
_SPANS = {
    **dict.fromkeys(("trace", "span", "parent"), "<u8"),
    **dict.fromkeys(("service", "gateway"), "<i4"),
    "kind": "|i1",
    "shared": "|b1",
    "took_ns": "<i8",
    **dict.fromkeys(("cpu", "probability"), "<f8"),
}
_BY_SERVICE = ("spans", "attributed", "orphaned", "cpu_stated")
_EDGES = {"caller": "<i8", "callee": "<i8", "count": "<f8"}
_DEMAND = {**dict.fromkeys((*METRICS, "gateway", *_BY_SERVICE), "<f8"), **_EDGES}
_NUMBERS = ("services", "products", "shard", "shards")


def is_sendable(services: int, products: int, shards: int) -> bool:
    """Return whether the demand of each of `shards` shards is small enough to send: at most half of BYTES_MAX."""
    return len(METRICS) * (GROUPS // shards) * services * products * 8 <= BYTES_MAX // 2


def write_shard(shard: SpanShard) -> bytes:
    """Return `shard` as bytes."""
    return pack(
        _FORM,
        {name: getattr(shard, name) for name in _NUMBERS},
        {name: getattr(shard.spans, name).astype(kind, copy=False) for name, kind in _SPANS.items()},
    )


def read_shard(content: bytes) -> SpanShard:
    """Return the shard of `content`. Raises NotReadable."""
    numbers, arrays = unpack(content, _FORM, _SPANS)
    try:
        services, products, shard, shards = (int(numbers[name]) for name in _NUMBERS)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise NotReadable(f"it is no shard of spans: {type(error).__name__}") from error
    if not (0 <= shard < shards <= GROUPS and GROUPS % shards == 0):
        raise NotReadable(f"its shard is {shard} of {shards}")
    if min(services, products) < 0 or not is_sendable(services, products, shards):
        raise NotReadable(f"it has {services} services and {products} products")
    if len({len(one) for one in arrays.values()}) != 1:
        raise NotReadable("its spans are of different numbers")
    _require_within(arrays["service"], 0, services)
    _require_within(arrays["gateway"], -1, products)
    return SpanShard(spans=Spans(**arrays), services=services, products=products, shard=shard, shards=shards)


def write_demand(demand: Demand, shard: SpanShard) -> bytes:
    """Return the demand of `shard` as bytes: the groups of the shard alone, because it is 0 in all others."""
    own = slice(shard.shard, None, shard.shards)
    arrays = {name: demand.cost[name][own].ravel() for name in METRICS}
    arrays |= {"gateway": demand.gateway[own].ravel(), **{name: getattr(demand, name) for name in _BY_SERVICE}}
    arrays |= {name: getattr(demand.edges, name) for name in _EDGES}
    return pack(_ANSWER, {"duplicates": demand.duplicates}, arrays)


def read_demand(content: bytes, asked: SpanShard) -> Demand:
    """Return the demand of `content`, which is of the shard `asked`. Raises NotReadable."""
    numbers, arrays = unpack(content, _ANSWER, _DEMAND)
    S, P, own = asked.services, asked.products, slice(asked.shard, None, asked.shards)
    sizes = {
        **dict.fromkeys(METRICS, asked.groups * S * P),
        "gateway": asked.groups * P,
        **dict.fromkeys(_BY_SERVICE, S),
    }
    if any(len(arrays[name]) != size for name, size in sizes.items()):
        raise NotReadable("its demand does not fit the shard")
    if len({len(arrays[name]) for name in _EDGES}) != 1 or not all(np.isfinite(one).all() for one in arrays.values()):
        raise NotReadable("its demand is damaged")
    for name in ("caller", "callee"):
        _require_within(arrays[name], 0, S)
    if not isinstance(numbers.get("duplicates"), int):
        raise NotReadable("it does not say how many spans came twice")
    whole = Demand.none(S, P)
    for name in METRICS:
        whole.cost[name][own] = arrays[name].reshape(asked.groups, S, P)
    whole.gateway[own] = arrays["gateway"].reshape(asked.groups, P)
    return Demand(
        cost=whole.cost,
        gateway=whole.gateway,
        **{name: arrays[name] for name in _BY_SERVICE},
        edges=Calls(**{name: arrays[name] for name in _EDGES}),
        duplicates=numbers["duplicates"],
    )


def _require_within(numbers: np.ndarray[Any, Any], least: int, end: int) -> None:
    if len(numbers) and not least <= numbers.min() <= numbers.max() < end:
        raise NotReadable("it names a service or product that it does not have")
