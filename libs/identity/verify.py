"""Verify a JSON web token: signature, issuer, audience and times. No refusal holds a value of the token."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from typing import Any

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import Key

from libs.identity.issuers import Issuer

TOKEN_LENGTH_MAX = 16_384
LEEWAY_S = 60.0
"""Difference of clocks that is tolerated."""
PERSON_LENGTH_MAX = 255
SEPARATOR = "|"
"""Stands between issuer and subject in a person. No token's name may have it."""


class Refused(Exception):
    """The token is not valid. The message says which check failed, and holds no value of the token."""


def unverified(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the claims of a token before its signature is verified. Raises Refused.

    They serve only to choose the issuer and the key.
    """
    if len(token) > TOKEN_LENGTH_MAX:
        raise Refused(f"it has more than {TOKEN_LENGTH_MAX:,} characters")
    parts = token.split(".")
    if len(parts) != 3:
        raise Refused("it is neither a plim_ token nor a JSON web token")
    return _object(parts[0]), _object(parts[1])


def verify(
    token: str, header: Mapping[str, Any], issuer: Issuer, keys: Sequence[Key], *, now_s: float
) -> dict[str, Any]:
    """Return the claims of a token that one of `keys` has signed, and that is meant for us now. Raises Refused.

    now_s   seconds since 1970, real time: issuers do not know the Clock of a simulation
    """
    if header.get("alg") not in issuer.algorithms:
        raise Refused(f"the issuers' file allows only {', '.join(issuer.algorithms)} for {issuer.name}")
    if "crit" in header or "b64" in header:
        raise Refused("its header demands extensions")
    kind = str(header.get("typ", "JWT")).lower().removeprefix("application/")
    if kind not in {one.lower() for one in issuer.token_types}:
        raise Refused(f"it is of another type than {' or '.join(issuer.token_types)}")
    registry = jws.JWSRegistry(algorithms=list(issuer.algorithms), strict_check_header=False)
    claims = next((found for key in keys if (found := _signed(token, key, registry)) is not None), None)
    if claims is None:
        raise Refused("its signature is not one of the issuer's")
    _check_times(claims, now_s)
    audience = claims.get("aud")
    named = audience if isinstance(audience, list) else [audience]
    if not any(one in issuer.audiences for one in named if isinstance(one, str)):
        raise Refused(f"it is meant for another audience than {' or '.join(issuer.audiences)}")
    return claims


def person_of(issuer: Issuer, claims: Mapping[str, Any]) -> str:
    """Return the person behind verified claims. Raises Refused."""
    subject = claims.get(issuer.person_claim)
    if not isinstance(subject, str) or not 1 <= len(subject) <= PERSON_LENGTH_MAX or not subject.isprintable():
        raise Refused(f"it has no usable claim {issuer.person_claim}, which tells persons apart")
    return issuer.name + SEPARATOR + subject


def _signed(token: str, key: Key, registry: jws.JWSRegistry) -> dict[str, Any] | None:
    try:
        found = jws.deserialize_compact(token, key, registry=registry)
        return _parsed(found.payload or b"")
    except (JoseError, ValueError, TypeError):
        return None


def _check_times(claims: Mapping[str, Any], now_s: float) -> None:
    ends_s, begins_s, made_s = (_seconds(claims, name) for name in ("exp", "nbf", "iat"))
    if ends_s is None:
        raise Refused("it never expires: it has no exp")
    if now_s >= ends_s + LEEWAY_S:
        raise Refused("it has expired: log in again")
    if max(begins_s or 0.0, made_s or 0.0) > now_s + LEEWAY_S:
        raise Refused("it is not valid yet: compare the clocks of the issuer and of this host")


def _seconds(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e12:  # NaN is not <= either
        raise Refused(f"its {name} is no time")
    return float(value)


def _object(part: str) -> dict[str, Any]:
    try:
        return _parsed(urlsafe_b64decode(part.encode("ascii") + b"=" * (-len(part) % 4)))
    except ValueError as error:
        raise Refused("it is neither a plim_ token nor a JSON web token") from error


def _parsed(content: bytes) -> dict[str, Any]:
    """Return a JSON object. Raises ValueError."""
    try:
        found = json.loads(content)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(found, dict):
        raise ValueError("no object")
    return found
