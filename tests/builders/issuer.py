"""An issuer of tokens on loopback: discovery, keys that rotate, and the device flow of RFC 8628."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from joserfc import jws
from joserfc.jwk import ECKey, Key, KeySet, RSAKey

from tests.builders.http_system import Asked, HttpSystem

AUDIENCE = "plimsoll"
ALGORITHMS = ["RS256", "ES256", "HS256", "none"]
_MADE: dict[str, Key] = {}


def rsa(kid: str) -> Key:
    """Return the key of this name; making one takes a moment, so tests share them."""
    return _MADE.setdefault(kid, RSAKey.generate_key(2048, {"kid": kid, "use": "sig", "alg": "RS256"}))


def sign(header: dict[str, Any], claims: object, key: Key | None) -> str:
    registry = jws.JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
    return jws.serialize_compact(header, json.dumps(claims), key, registry=registry)


@dataclass
class LoopbackIssuer:
    """`answer` overrides what a path answers. `device` is what the token endpoint answers to polls, in order."""

    keys: list[Key] = field(default_factory=lambda: [rsa("first")])
    answer: dict[str, Callable[[], tuple[int, object]]] = field(default_factory=dict)
    device: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    refreshed: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __enter__(self) -> LoopbackIssuer:
        self.http = HttpSystem(self._say).__enter__()
        self.url = self.http.url
        return self

    def __exit__(self, *_: object) -> None:
        self.http.__exit__()

    def asked(self, path: str) -> int:
        """Return how often this path was asked for."""
        return sum(one.path == path for one in self.http.asked)

    def claims(self, sub: Any = "rita", **more: Any) -> dict[str, Any]:
        now = int(time.time())
        claims = {"iss": self.url, "aud": AUDIENCE, "sub": sub, "iat": now, "nbf": now, "exp": now + 600, **more}
        return {name: value for name, value in claims.items() if value is not None}

    def token(
        self, sub: Any = "rita", *, key: Key | None = None, header: dict[str, Any] | None = None, **more: Any
    ) -> str:
        key = key or self.keys[-1]
        alg = "ES256" if isinstance(key, ECKey) else "RS256"
        return sign({"alg": alg, "kid": key.kid, "typ": "at+jwt", **(header or {})}, self.claims(sub, **more), key)

    def rotate(self, kid: str) -> None:
        """Sign with another key from now on; the old one stays in the set, as with real issuers."""
        self.keys = [*self.keys[-1:], rsa(kid)]

    def _say(self, asked: Asked) -> tuple[int, object]:
        if asked.path in self.answer:
            return self.answer[asked.path]()
        if asked.path == "/.well-known/openid-configuration":
            return 200, {
                "issuer": self.url,
                "jwks_uri": f"{self.url}/keys",
                "device_authorization_endpoint": f"{self.url}/device",
                "token_endpoint": f"{self.url}/token",
            }
        if asked.path == "/keys":
            return 200, KeySet(self.keys).as_dict(private=False)
        form = {name: values[0] for name, values in parse_qs(asked.body.decode()).items()}
        if asked.path == "/device":
            return 200, {
                "device_code": f"device-{form['client_id']}",
                "user_code": "WDJB-MJHT",
                "verification_uri": f"{self.url}/activate",
                "expires_in": 600,
                "interval": 0,
            }
        if asked.path == "/token" and form["grant_type"] == "refresh_token":
            found = self.refreshed.pop(form["refresh_token"], None)
            return (200, found) if found else (400, {"error": "invalid_grant"})
        if asked.path == "/token":
            return self.device.pop(0)
        return 404, {}
