"""Spans as arrays: what attribution keeps of a trace, whatever tracing system it came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from libs.domain.fleet import Bools, Floats, Indices, Ints

Ids = NDArray[np.uint64]

INTERNAL, SERVER, CLIENT = 0, 1, 2
"""Kinds of a span, as far as attribution cares: producers call like clients, consumers are called like servers."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spans:
    """N spans in the order in which they arrived.

    trace        (N,) uint64  a hash of the trace id
    span         (N,) uint64  unique within the trace, but for the two halves of a Zipkin call
    parent       (N,) uint64  0: a root
    service      (N,) int     index into the intake's names of services
    gateway      (N,) int     index of the product whose entry point this span is; -1: of none
    kind         (N,) int8    INTERNAL, SERVER or CLIENT
    shared       (N,) bool    the server's half of a call whose client's half has the same id (Zipkin)
    took_ns      (N,) int     from start to end
    cpu          (N,) float   CPU instructions; nan: not stated
    probability  (N,) float   with which the trace was sampled; nan: not stated
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
        """The spans of those rows."""
        return Spans(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})


def join_spans(parts: Sequence[Spans]) -> Spans:
    """All spans of the parts, in their order."""
    if len(parts) == 1:
        return parts[0]
    joined: dict[str, Any] = {f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Spans)}
    return Spans(**joined)
