"""Limit the cookies that an address may try. The API sees one address for all visitors, so it cannot."""

from __future__ import annotations

import hashlib

from starlette.requests import Request

from libs.web.rates import Accepted, Buckets, network_of

TRIES_PER_S, TRIES_BURST = 1.0, 30
"""Cookies of unknown sessions per address. The API takes more of them from the address of the pages."""


class KnownSessions:
    """The sessions that the API accepted lately, and a bucket per address for all other cookies."""

    def __init__(self) -> None:
        self._accepted, self._tries = Accepted(), Buckets(TRIES_PER_S, TRIES_BURST)

    def wait_s(self, request: Request, secret: str) -> float:
        """Return 0 if the API may be asked about a cookie, else the seconds to wait. Counts a try if it is unknown."""
        if self._accepted.client(_digest(secret)) is not None:
            return 0.0
        return self._tries.take(visitor_of(request))

    def note(self, secret: str, *, is_open: bool) -> None:
        """Remember what the API said of a session."""
        if is_open:
            self._accepted.add(_digest(secret), True)
        else:
            self._accepted.discard(_digest(secret))


def visitor_of(request: Request) -> str:
    """Return the address of a visitor as limits count it."""
    return network_of(request.client.host if request.client else "unknown")


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
