"""Attribute the spans of a sweep here and on workers of other machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from libs.domain.demand import Demand
from libs.domain.span_shard import SpanShard, shards_of
from libs.domain.spans import Spans
from libs.flux.attribution.demand import demand_of
from libs.interchange.job_parts.span_shard import is_sendable, read_demand, read_shard, write_demand, write_shard
from libs.jobs.settings import JobSettings
from libs.jobs.shared_parts import Part, SharedParts, Unwanted
from libs.reconcile.jobs import SUM_SPANS_PART
from libs.store.platform.database import Database

SHARD_SPANS = 250_000
"""Least number of spans in a shard on average. One core sums so many in a quarter of a second."""


@dataclass(frozen=True, slots=True)
class SharedAttribution:
    """Attributes whole traces in shards, each here or on a worker. The demand is exactly that of `demand_of`."""

    database: Database
    wanted_s: float

    def __call__(self, spans: Spans, services: int, products: int) -> Demand:
        """Return the demand of `spans`; few spans are one shard."""
        shards = next(n for n in (16, 8, 4, 2, 1) if n == 1 or len(spans) >= n * SHARD_SPANS)
        if shards == 1 or not is_sendable(services, products, shards):
            return demand_of(spans, services, products)
        total = Demand.none(services, products)
        with SharedParts(self.database, SUM_SPANS_PART, wanted_s=self.wanted_s, threads=1) as parts:
            waiting = [parts.submit(_part(shard)) for shard in shards_of(spans, services, products, shards)]
            for each in waiting:
                total = total.plus(each.result())
        return total


def attribution(database: Database, settings: JobSettings) -> Callable[[Spans, int, int], Demand]:
    """Return the function that attributes the spans of a sweep, in shards if the settings share parts."""
    return SharedAttribution(database, settings.job_lease_s) if settings.job_parts_shared else demand_of


def answer_shard(content: bytes, _: Unwanted) -> bytes:
    """Return the demand of the shard `content`. Raises NotReadable."""
    shard = read_shard(content)
    return write_demand(_demand(shard), shard)


def _demand(shard: SpanShard) -> Demand:
    return demand_of(shard.spans, shard.services, shard.products)


def _part(shard: SpanShard) -> Part[Demand]:
    return Part(
        solve=lambda _: _demand(shard),
        write=lambda: write_shard(shard),
        read=lambda content: read_demand(content, shard),
    )
