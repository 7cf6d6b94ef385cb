"""What every reader of traces shares: names become numbers, entry points are recognised, ids become integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, get_args

import numpy as np

from libs.domain.fleet import Bools, Floats
from libs.domain.spans import CLIENT, INTERNAL, SERVER, Ids, Spans

SERVICES_MAX = 50_000
"""Names of services that are taken; more is somebody's mistake, such as a pod's name for a service's."""
NAN = float("nan")
CPU = "cpu.instructions"
PROBABILITY = "sampling.probability"
UNKNOWN = "unknown_service"
"""What OpenTelemetry calls a service without a name."""
KIND_OF_OTLP = (INTERNAL, INTERNAL, SERVER, CLIENT, CLIENT, SERVER)
"""By the number in the protocol: unspecified, internal, server, client, producer, consumer."""
KIND_OF_NAME = {"SERVER": SERVER, "CONSUMER": SERVER, "CLIENT": CLIENT, "PRODUCER": CLIENT}
_MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
NS_MAX = 1 << 62
NO_PARENT = bytes(8)
CPU_MAX = 1e18
"""Instructions: ten years of a machine. One span that stated more, or infinity, would be all that its service is."""
PROBABILITY_MIN = 1e-9


class TooManyServicesError(Exception):
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

    def afresh(self) -> Intake:
        """The same entry points, and no service known yet: for a request whose services get numbers of their own."""
        other = Intake(gateways={})
        other._operations = self._operations
        return other

    def service(self, name: str) -> int:
        """The number of a service. Raises: TooManyServicesError."""
        number = self.services.setdefault(name, len(self.services))
        if number >= SERVICES_MAX:
            raise TooManyServicesError(f"more than {SERVICES_MAX:,} service names; the last is {name[:80]!r}")
        return number

    def operations(self, service: str) -> Mapping[str, int]:
        """Operation -> product, for those operations of a service that are entry points."""
        return self._operations.get(service, {})


Found = tuple[bytes, bytes, bytes, int, int, int, int, float, float]
"""A span as a reader finds it: trace, span, parent (b"": none), service, gateway, kind, took_ns, cpu, probability."""


@dataclass(slots=True)
class Rows:
    """Spans as a reader finds them, with trace ids of 16 bytes and span ids of 8.

    found   the readers of the hot path append to it themselves: a call for each span costs as much as its ids
    shared  rows that are the server's half of a call whose client's half has the same id

    A batch is checked as a whole once it is complete: checking each span where it is read costs a third of the reading.
    """

    intake: Intake
    found: list[Found] = field(default_factory=list)
    shared: set[int] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self.found)

    def spans(self) -> Spans:
        """As arrays. Rows whose ids have a wrong length or whose times make no sense are counted as malformed."""
        columns = _columns(self.found)
        good = _good(columns[0], columns[1], columns[2], columns[6])
        self.intake.malformed += int((~good).sum())
        shared = np.zeros(len(good), bool)
        shared[list(self.shared)] = True
        if not good.all():
            columns = _columns(list(compress(self.found, good)))
        trace, span, parent, service, gateway, kind, took_ns, cpu, probability = columns
        return Spans(
            trace=_trace_ids(b"".join(trace)),
            span=_span_ids(b"".join(span)),
            parent=_span_ids(b"".join([p or NO_PARENT for p in parent])),
            service=np.array(service, np.int32),
            gateway=np.array(gateway, np.int32),
            kind=np.array(kind, np.int8),
            shared=shared[good],
            took_ns=np.array(took_ns, np.int64),
            cpu=_stated(np.array(cpu, np.float64), 0.0, CPU_MAX),
            probability=_stated(np.array(probability, np.float64), PROBABILITY_MIN, 1.0),
        )


def _columns(found: Sequence[Found]) -> tuple[Any, ...]:
    return tuple(zip(*found, strict=True)) or ((),) * len(get_args(Found))


def _good(trace: Sequence[bytes], span: Sequence[bytes], parent: Sequence[bytes], took_ns: Sequence[int]) -> Bools:
    lengths = (np.fromiter(map(len, ids), np.intp, len(ids)) for ids in (trace, span, parent))
    of_trace, of_span, of_parent = lengths
    took = np.array(took_ns, np.float64)  # a float holds any integer that a span may claim
    good = (of_trace == 16) & (of_span == 8) & ((of_parent == 0) | (of_parent == 8)) & (np.abs(took) < NS_MAX)
    return np.asarray(good)


def padded(identifier: str, digits: int) -> bytes:
    """An id in hexadecimal that may lack leading zeros. Raises: ValueError."""
    return bytes.fromhex(identifier.rjust(digits, "0"))


def probability_of(trace_state: str) -> float:
    """Sampling probability by the threshold in a W3C trace state (`ot=th:...`); nan where it has none.

    Source: OpenTelemetry, TraceState: probability sampling. th is a fraction of 2^56 in hexadecimal, trailing zeros
    left out; spans whose randomness is below it are dropped.
    """
    for member in trace_state.split(","):
        vendor, _, values = member.strip().partition("=")
        for value in values.split(";") if vendor == "ot" else ():
            key, _, threshold = value.partition(":")
            if key == "th" and 0 < len(threshold) <= 14:
                try:
                    return 1.0 - int(threshold.ljust(14, "0"), 16) / 2**56
                except ValueError:
                    return NAN
    return NAN


def _stated(value: Floats, least: float, most: float) -> Floats:
    """Values within these limits; others count as not stated."""
    return np.where((value >= least) & (value <= most), value, NAN)


def _trace_ids(content: bytes) -> Ids:
    """(N,) a hash of N trace ids of 16 bytes each: splitmix64 of both halves, so that ids need not be random."""
    halves = np.frombuffer(content, ">u8").astype(np.uint64).reshape(-1, 2)
    with np.errstate(over="ignore"):
        mixed = halves[:, 0] * _MIX[0] + halves[:, 1]
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX[1]
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX[2]
        return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def _span_ids(content: bytes) -> Ids:
    return np.frombuffer(content, ">u8").astype(np.uint64)
