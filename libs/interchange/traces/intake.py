"""What every reader of traces shares: names become numbers, entry points are recognised, ids become integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from libs.domain.spans import CLIENT, INTERNAL, SERVER, Ids, Spans

SERVICES_MAX = 50_000
"""Names of services that are taken; more is somebody's mistake, such as a pod's name for a service's."""
_MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class TooManyServicesError(ValueError):
    """Traces name more services than any fleet has."""


@dataclass(slots=True, kw_only=True)
class Intake:
    """Numbers for the names that traces bring.

    gateways   (service, operation) -> index of the product whose entry point it is
    services   name -> number, in order of appearance
    malformed  things that were skipped because they are no spans
    """

    gateways: Mapping[tuple[str, str], int]
    services: dict[str, int] = field(default_factory=dict)
    malformed: int = 0
    _operations: dict[str, dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for (service, operation), product in self.gateways.items():
            self._operations.setdefault(service, {})[operation] = product

    def service(self, name: str) -> int:
        """The number of a service. Raises: TooManyServicesError."""
        number = self.services.setdefault(name, len(self.services))
        if number >= SERVICES_MAX:
            raise TooManyServicesError(f"more than {SERVICES_MAX:,} service names; the last is {name[:80]!r}")
        return number

    def operations(self, service: str) -> Mapping[str, int]:
        """Operation -> product, for those operations of a service that are entry points."""
        return self._operations.get(service, {})


@dataclass(slots=True)
class Rows:
    """Spans as a reader finds them, a list per column; ids in hexadecimal, "" for none."""

    trace: list[str] = field(default_factory=list)
    span: list[str] = field(default_factory=list)
    parent: list[str] = field(default_factory=list)
    service: list[int] = field(default_factory=list)
    gateway: list[int] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    start_ns: list[int] = field(default_factory=list)
    end_ns: list[int] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    probability: list[float] = field(default_factory=list)
    shared: list[bool] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.trace)

    def spans(self) -> Spans:
        """As arrays. Raises: ValueError, where an id is not hexadecimal."""
        trace = b"".join([bytes.fromhex(t if len(t) == 32 else t.rjust(32, "0")) for t in self.trace])
        return Spans(
            trace=trace_ids(trace),
            span=_span_ids(self.span),
            parent=_span_ids(self.parent),
            service=np.array(self.service, np.int32),
            gateway=np.array(self.gateway, np.int32),
            kind=np.array(self.kind, np.int8),
            shared=np.array(self.shared or [False] * len(self), bool),
            start_ns=np.array(self.start_ns, np.int64),
            end_ns=np.array(self.end_ns, np.int64),
            cpu=np.array(self.cpu, np.float64),
            probability=np.array(self.probability, np.float64),
        )


def trace_ids(content: bytes) -> Ids:
    """(N,) a hash of N trace ids of 16 bytes each: splitmix64 of both halves, so that ids need not be random."""
    halves = np.frombuffer(content, ">u8").astype(np.uint64).reshape(-1, 2)
    with np.errstate(over="ignore"):
        mixed = halves[:, 0] * _MIX[0] + halves[:, 1]
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX[1]
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX[2]
        return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def span_ids(content: bytes) -> Ids:
    """(N,) N span ids of 8 bytes each."""
    return np.frombuffer(content, ">u8").astype(np.uint64)


def _span_ids(ids: list[str]) -> Ids:
    return span_ids(b"".join([bytes.fromhex(s if len(s) == 16 else s.rjust(16, "0")) for s in ids]))


KIND_OF_OTLP = (INTERNAL, INTERNAL, SERVER, CLIENT, CLIENT, SERVER)
"""By the number in the protocol: unspecified, internal, server, client, producer, consumer."""
