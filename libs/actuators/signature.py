"""Signatures of the webhook actuator's calls, and their verification by a receiver."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass

SIGNATURE = "Plimsoll-Signature"
"""The header: `t=SECONDS,v2=HEX,v1=HEX`, with a v2 and a v1 for each secret."""
AGE_S_MAX = 300
"""Largest difference from the present time, in seconds. Other calls are replays, or come from a wrong clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The signed parts of a call: all that a receiver acts on.

    target   path and query, as in the first line of the request
    key      the header Idempotency-Key
    """

    method: str
    target: str
    key: str
    body: bytes


def sign(call: Call, secrets: Sequence[bytes], *, at_s: int) -> str:
    """Return the header of a call. v2 is HMAC-SHA256 over the time, method, target, key and body, one line each.

    v1, over `SECONDS.BODY`, is for receivers older than v2. It does not cover the key, so receivers should check v2.

    at_s   seconds since 1970
    """
    both = [f"{version}={digest(call, secret, at_s)}" for version, digest in _DIGESTS.items() for secret in secrets]
    return ",".join([f"t={at_s}", *both])


def is_signed(header: str, call: Call, secrets: Sequence[bytes], *, now_s: float) -> bool:
    """Return whether one of `secrets` signed the call at most AGE_S_MAX seconds from `now_s`. The comparison takes
    constant time.
    """
    fields = [part.partition("=")[::2] for part in header.split(",")]
    times = [value for name, value in fields if name == "t"]
    if len(times) != 1 or not times[0].isdecimal() or len(times[0]) > 12:
        return False
    at_s = int(times[0])
    wanted = [_v2(call, secret, at_s) for secret in secrets]
    given = [value for name, value in fields if name == "v2"]
    matches = [hmac.compare_digest(w.encode(), g.encode()) for w in wanted for g in given]
    return any(matches) and abs(now_s - at_s) <= AGE_S_MAX


def _v2(call: Call, secret: bytes, at_s: int) -> str:
    head = f"{at_s}\n{call.method}\n{call.target}\n{call.key}\n"
    return hmac.new(secret, head.encode() + call.body, hashlib.sha256).hexdigest()


def _v1(call: Call, secret: bytes, at_s: int) -> str:
    return hmac.new(secret, b"%d." % at_s + call.body, hashlib.sha256).hexdigest()


_DIGESTS = {"v2": _v2, "v1": _v1}
