"""How calls of the webhook actuator are signed, and how a receiver sees that they are ours and fresh."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

SIGNATURE = "Plimsoll-Signature"
"""The header: `t=SECONDS,v1=HEX[,v1=HEX]`, one v1 for each secret."""
AGE_S_MAX = 300
"""Older, or newer, calls are replays or the work of a wrong clock."""


def sign(body: bytes, secrets: Sequence[bytes], *, at_s: int) -> str:
    """The header of a call: HMAC-SHA256 over `SECONDS.BODY` with each of these secrets.

    at_s   seconds since 1970
    """
    return ",".join([f"t={at_s}", *(f"v1={_digest(body, secret, at_s)}" for secret in secrets)])


def is_signed(header: str, body: bytes, secrets: Sequence[bytes], *, now_s: float) -> bool:
    """Whether any of these secrets signed the body lately. The comparison takes as long whatever the header says."""
    fields = [part.partition("=")[::2] for part in header.split(",")]
    times = [value for name, value in fields if name == "t"]
    if len(times) != 1 or not times[0].isdecimal() or len(times[0]) > 12:
        return False
    at_s = int(times[0])
    wanted = [_digest(body, secret, at_s) for secret in secrets]
    given = [value for name, value in fields if name == "v1"]
    matches = [hmac.compare_digest(w.encode(), g.encode()) for w in wanted for g in given]
    return any(matches) and abs(now_s - at_s) <= AGE_S_MAX


def _digest(body: bytes, secret: bytes, at_s: int) -> str:
    return hmac.new(secret, b"%d." % at_s + body, hashlib.sha256).hexdigest()
