"""Code that all trace readers share: give numbers to the names of services, recognise entry points, and convert ids to
integers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import compress

import numpy as np

from libs.domain.arrays import Bools, Floats
from libs.domain.spans import CLIENT, INTERNAL, SERVER, Ids, Spans

SERVICES_MAX = 50_000
"""Largest number of service names. More names are a mistake, such as the names of pods in place of services."""
NAN = float("nan")
CPU = "cpu.instructions"
PROBABILITY = "sampling.probability"
UNKNOWN = "unknown_service"
"""OpenTelemetry's name for a service without a name."""
KIND_OF_OTLP = (INTERNAL, INTERNAL, SERVER, CLIENT, CLIENT, SERVER)
"""Kinds by their number in the protocol: unspecified, internal, server, client, producer, consumer."""
KIND_OF_NAME = {"SERVER": SERVER, "CONSUMER": SERVER, "CLIENT": CLIENT, "PRODUCER": CLIENT}
_MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
NS_MAX = 1 << 62
NO_PARENT = bytes(8)
CPU_MAX = 1e18
"""Largest number of instructions of a span: ten years of a machine. A larger claim would outweigh all other spans."""
PROBABILITY_MIN = 1e-9


class TooManyServicesError(Exception):
    """Traces name more than SERVICES_MAX services."""


@dataclass(slots=True, kw_only=True)
class Intake:
    """The state of reading traces: the number given to each service name, and counts of the parts and items read so
    far.

    gateways   (service, operation) -> index of the product whose entry point it is
    services   name -> number, in order of appearance
    malformed  items skipped because they are not spans
    parts      lines or messages of a file, empty ones too
    parts_max  largest number of parts and malformed items together
    """

    gateways: Mapping[tuple[str, str], int]
    services: dict[str, int] = field(default_factory=dict)
    malformed: int = 0
    parts: int = 0
    parts_max: float = math.inf
    _operations: dict[str, dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for (service, operation), product in self.gateways.items():
            self._operations.setdefault(service, {})[operation] = product

    def look(self) -> None:
        """Count one line or message of a file. Raises ValueError if parts and malformed items exceed `parts_max`.

        The limit is needed because an empty message takes four bytes: a gzip of 2 MB can hold five hundred million
        empty messages.
        """
        self.parts += 1
        if self.parts + self.malformed > self.parts_max:
            raise ValueError(f"has more than {self.parts_max:,} lines, messages and malformed spans: split it")

    def afresh(self) -> Intake:
        """Return an intake with the same entry points and without services, for a request that numbers its services
        itself.
        """
        other = Intake(gateways={})
        other._operations = self._operations
        return other

    def service(self, name: str) -> int:
        """Return the number that stands for the service called `name` in Rows. A new name gets the next free number.
        Raises TooManyServicesError.
        """
        number = self.services.setdefault(name, len(self.services))
        if number >= SERVICES_MAX:
            raise TooManyServicesError(f"more than {SERVICES_MAX:,} service names; the last is {name[:80]!r}")
        return number

    def operations(self, service: str) -> Mapping[str, int]:
        """Return operation -> index of the product, for those operations of `service` that are entry points."""
        return self._operations.get(service, {})


@dataclass(slots=True)
class Rows:
    """Spans in columns, in the order and form in which a reader finds them. Trace ids have 16 bytes and span ids 8
    bytes. A parent of b"" means that the span has no parent.

    The checks run once for a whole batch. Checking each span while it is read would take a third longer.
    """

    intake: Intake
    trace: list[bytes] = field(default_factory=list)
    span: list[bytes] = field(default_factory=list)
    parent: list[bytes] = field(default_factory=list)
    service: list[int] = field(default_factory=list)
    gateway: list[int] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    took_ns: list[int] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    probability: list[float] = field(default_factory=list)
    shared: set[int] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self.trace)

    def add(
        self,
        trace: bytes,
        span: bytes,
        parent: bytes,
        service: int,
        gateway: int,
        kind: int,
        took_ns: int,
        cpu: float,
        probability: float,
    ) -> None:
        """Append one span.

        Both readers of OTLP append to the columns themselves, which saves a call per span. One tuple per span, in place
        of columns, took 1.2 to 1.6 times as long for JSON files: the garbage collector visits every tuple of a batch.
        """
        self.trace.append(trace)
        self.span.append(span)
        self.parent.append(parent)
        self.service.append(service)
        self.gateway.append(gateway)
        self.kind.append(kind)
        self.took_ns.append(took_ns)
        self.cpu.append(cpu)
        self.probability.append(probability)

    def spans(self) -> Spans:
        """Return the spans as arrays. Rows with ids of a wrong length or impossible times are counted as malformed."""
        good = self._good()
        if not good.all():
            self.intake.malformed += int((~good).sum())
            for name in ("trace", "span", "parent", "took_ns"):
                setattr(self, name, list(compress(getattr(self, name), good)))
        shared = np.zeros(len(good), bool)
        shared[list(self.shared)] = True
        return Spans(
            trace=_trace_ids(b"".join(self.trace)),
            span=_span_ids(b"".join(self.span)),
            parent=_span_ids(b"".join([p or NO_PARENT for p in self.parent])),
            service=np.array(self.service, np.int32)[good],
            gateway=np.array(self.gateway, np.int32)[good],
            kind=np.array(self.kind, np.int8)[good],
            shared=shared[good],
            took_ns=np.array(self.took_ns, np.int64),
            cpu=_stated(np.array(self.cpu, np.float64)[good], 0.0, CPU_MAX),
            probability=_stated(np.array(self.probability, np.float64)[good], PROBABILITY_MIN, 1.0),
        )

    def _good(self) -> Bools:
        lengths = (np.fromiter(map(len, ids), np.intp, len(self)) for ids in (self.trace, self.span, self.parent))
        trace, span, parent = lengths
        # Compare Python integers: a span may claim a time beyond the range of floats.
        took = np.fromiter((-NS_MAX < ns < NS_MAX for ns in self.took_ns), bool, len(self))
        return np.asarray((trace == 16) & (span == 8) & ((parent == 0) | (parent == 8)) & took)


def padded(identifier: str, digits: int) -> bytes:
    """Return the bytes of a hexadecimal id, which may lack leading zeros. Raises ValueError."""
    return bytes.fromhex(identifier.rjust(digits, "0"))


def probability_of(trace_state: str) -> float:
    """Return the sampling probability by the threshold in a W3C trace state (`ot=th:...`); nan without a threshold.

    Source: OpenTelemetry, TraceState: probability sampling. `th` is a fraction of 2^56 in hexadecimal without trailing
    zeros. Spans whose randomness is below it are dropped.
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
    """Return `value` with nan in place of every number below `least` or above `most`."""
    return np.where((value >= least) & (value <= most), value, NAN)


def _trace_ids(content: bytes) -> Ids:
    """Return (N,) hashes of N trace ids of 16 bytes. The hash is splitmix64 of both halves of the id, so it is uniform
    even if the ids are not random.
    """
    halves = np.frombuffer(content, ">u8").astype(np.uint64).reshape(-1, 2)
    with np.errstate(over="ignore"):
        mixed = halves[:, 0] * _MIX[0] + halves[:, 1]
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX[1]
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX[2]
        return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def _span_ids(content: bytes) -> Ids:
    return np.frombuffer(content, ">u8").astype(np.uint64)
