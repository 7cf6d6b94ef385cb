"""Cut the spans of a sweep into shards that can be summed apart, on any machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from libs.domain.demand import GROUPS
from libs.domain.spans import Spans


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpanShard:
    """Whole traces of some of the GROUPS that a demand keeps apart: group g is in the shard g % `shards`.

    A shard has whole traces, because a product comes down from the root of a trace through all services. The demand of
    a shard is 0 in all other groups, so the demands of all shards add up to that of all spans, exactly.

    spans      services and gateways are numbers below `services` and `products`
    shard      number of this shard
    shards     number of shards; GROUPS is a multiple of it
    """

    spans: Spans
    services: int
    products: int
    shard: int
    shards: int

    @property
    def groups(self) -> int:
        """Return the number of groups of the shard."""
        return GROUPS // self.shards


def shards_of(spans: Spans, services: int, products: int, shards: int) -> Iterator[SpanShard]:
    """Yield the shards of `spans`. `shards` divides GROUPS."""
    of = spans.trace % np.uint64(shards)
    for shard in range(shards):
        some = spans.take(of == shard)
        yield SpanShard(spans=some, services=services, products=products, shard=shard, shards=shards)
