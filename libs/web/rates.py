"""Rate limits per token and per stranger's address or network: token buckets in this process (ADR 0010)."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from ipaddress import IPv4Address, IPv6Network, ip_address

from pydantic import Field

from libs.reconcile.environment import Settings

KEYS_MAX = 10_000
"""Largest number of buckets of each kind. The least recently used one is dropped first, and is full when it
comes back.
"""


class RateSettings(Settings):
    """Requests per second on average, and the largest burst, per token and per address without a valid token."""

    rate_per_s: float = Field(default=100.0, gt=0, le=1e6, validation_alias="PLIMSOLL_RATE_PER_S")
    rate_burst: int = Field(default=400, ge=1, le=1_000_000, validation_alias="PLIMSOLL_RATE_BURST")
    stranger_rate_per_s: float = Field(default=5.0, gt=0, le=1e6, validation_alias="PLIMSOLL_STRANGER_RATE_PER_S")
    stranger_rate_burst: int = Field(default=50, ge=1, le=1_000_000, validation_alias="PLIMSOLL_STRANGER_RATE_BURST")

    def limits(self) -> RateLimits:
        """Return buckets with these settings."""
        return RateLimits(
            tokens=Buckets(self.rate_per_s, self.rate_burst),
            strangers=Buckets(self.stranger_rate_per_s, self.stranger_rate_burst),
        )


def network_of(address: str) -> str:
    """Return the key of an address in buckets: an IPv4 address itself, and the /64 of an IPv6 address, because one
    person has all addresses in it. A text that is no address stays as it is.
    """
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv4Address):
        return str(found)
    return str(found.ipv4_mapped or IPv6Network((found, 64), strict=False))


class Buckets:
    """A bucket of `burst` requests for each key, refilled at `per_s`. Threads may share it."""

    def __init__(self, per_s: float, burst: int, *, seconds: Callable[[], float] = time.monotonic) -> None:
        self._per_s, self._burst, self._seconds = per_s, burst, seconds
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # key -> (left, at that second)

    def take(self, key: Hashable) -> float:
        """Take one request from the bucket of `key`, and return 0. If the bucket is empty, take nothing, and return the
        seconds until it holds a request.
        """
        with self._lock:
            left = self._left(key)
            if left < 1.0:
                return (1.0 - left) / self._per_s
            self._known[key] = (left - 1.0, self._seconds())
            self._known.move_to_end(key)
            if len(self._known) > KEYS_MAX:
                self._known.popitem(last=False)
            return 0.0

    def wait_s(self, key: Hashable) -> float:
        """Return the seconds until the bucket of `key` holds a request. Take nothing."""
        with self._lock:
            return max(0.0, (1.0 - self._left(key)) / self._per_s)

    def _left(self, key: Hashable) -> float:
        left, at = self._known.get(key, (float(self._burst), self._seconds()))
        return min(float(self._burst), left + (self._seconds() - at) * self._per_s)


class Accepted:
    """The clients behind bearers that were accepted lately, by the digest of the bearer. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, Hashable] = OrderedDict()

    def client(self, digest: bytes) -> Hashable | None:
        """Return the client; None if the bearer was not accepted lately."""
        with self._lock:
            return self._known.get(digest)

    def add(self, digest: bytes, client: Hashable) -> None:
        """Remember the client behind a bearer."""
        with self._lock:
            self._known[digest] = client
            self._known.move_to_end(digest)
            if len(self._known) > KEYS_MAX:
                self._known.popitem(last=False)

    def discard(self, digest: bytes) -> None:
        """Forget a bearer: it is no longer valid."""
        with self._lock:
            self._known.pop(digest, None)


class RateLimits:
    """The buckets of one process: by client for bearers that are valid, by address for the others."""

    def __init__(self, *, tokens: Buckets, strangers: Buckets) -> None:
        self.tokens, self.strangers, self.accepted = tokens, strangers, Accepted()
