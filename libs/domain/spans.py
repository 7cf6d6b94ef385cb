"""Spans as arrays: the parts of a trace that attribution needs, from any tracing system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Bools, Floats, Indices, Ints

Ids = NDArray[np.uint64]

INTERNAL, SERVER, CLIENT = 0, 1, 2
"""Kinds of a span. A producer counts as a client, and a consumer as a server."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spans:
    """N spans in the order of arrival.

    trace        (N,) uint64  hash of the trace id
    span         (N,) uint64  unique within the trace, except for the two halves of a Zipkin call
    parent       (N,) uint64  0: a root
    service      (N,) int     index into the intake's names of services
    gateway      (N,) int     index of the product whose entry point this span is; -1: none
    kind         (N,) int8    INTERNAL, SERVER or CLIENT
    shared       (N,) bool    the server's half of a call; the client's half has the same id (Zipkin)
    took_ns      (N,) int     duration
    cpu          (N,) float   CPU instructions; nan: not stated
    probability  (N,) float   sampling probability of the trace; nan: not stated
    """

    trace: Ids
    span: Ids
    parent: Ids
    service: Indices
    gateway: Indices
    kind: NDArray[np.int8]
    shared: Bools
    took_ns: Ints
    cpu: Floats
    probability: Floats

    def __len__(self) -> int:
        return len(self.trace)

    def take(self, rows: Bools | NDArray[np.intp] | slice) -> Spans:
        """Return the spans at `rows`."""
        return Spans(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})


def join_spans(parts: Sequence[Spans]) -> Spans:
    """Return all spans of the parts, in their order."""
    if len(parts) == 1:
        return parts[0]
    joined: dict[str, Any] = {f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Spans)}
    return Spans(**joined)
