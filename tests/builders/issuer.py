"""An issuer of tokens on loopback: discovery, keys that rotate, the device flow of RFC 8628, and the code flow."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote_plus, urlencode, urlsplit

from joserfc import jws
from joserfc.jwk import ECKey, Key, KeySet, RSAKey

from tests.builders.http_system import Asked, Given, HttpSystem

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
    """`answer` overrides what a path answers. `device` is what the token endpoint answers to polls, in order.

    clients         secrets of the clients of the code flow; None: a client without one
    redirect_uris   the registered ones
    groups          of the person who logs in
    id_claims       further claims of ID tokens
    given           overrides what the token endpoint answers to a code
    """

    keys: list[Key] = field(default_factory=lambda: [rsa("first")])
    answer: dict[str, Callable[[], tuple[int, object]]] = field(default_factory=dict)
    device: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    refreshed: dict[str, dict[str, Any]] = field(default_factory=dict)
    clients: dict[str, str | None] = field(default_factory=dict)
    redirect_uris: set[str] = field(default_factory=set)
    groups: list[str] = field(default_factory=list)
    id_claims: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

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

    def let_in(self, address: str) -> str:
        """Return the address to which a person comes back who logs in where the platform has sent them."""
        asked = dict(parse_qsl(urlsplit(address).query))
        assert asked["redirect_uri"] in self.redirect_uris
        assert asked["client_id"] in self.clients
        assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
        assert "openid" in asked["scope"].split()
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        back = {"code": code, "state": asked["state"], "iss": self.url}
        return f"{asked['redirect_uri']}?{urlencode(back)}"

    def _exchange(self, form: dict[str, str], authorization: str) -> tuple[int, object]:
        """Answer a code, once."""
        client, secret = form["client_id"], form.get("client_secret")
        if authorization:
            given = b64decode(authorization.removeprefix("Basic ")).decode().split(":")
            client, secret = (unquote_plus(part) for part in given)
        if client not in self.clients or self.clients[client] != secret:
            return 401, {"error": "invalid_client"}
        asked = self.codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        if (
            asked is None
            or (asked["client_id"], asked["redirect_uri"]) != (client, form["redirect_uri"])
            or asked["code_challenge"] != urlsafe_b64encode(digest).decode().rstrip("=")
        ):
            return 400, {"error": "invalid_grant"}
        id_claims = {"aud": client, "nonce": asked["nonce"], **self.id_claims}
        return 200, {
            "access_token": self.token(groups=self.groups),
            "id_token": self.token(header={"typ": "JWT"}, **id_claims),
            "token_type": "Bearer",
            "expires_in": 600,
            **self.given,
        }

    def _say(self, asked: Asked) -> tuple[int, object]:
        if asked.path in self.answer:
            return self.answer[asked.path]()
        if asked.path == "/.well-known/openid-configuration":
            return 200, {
                "issuer": self.url,
                "jwks_uri": f"{self.url}/keys",
                "device_authorization_endpoint": f"{self.url}/device",
                "authorization_endpoint": f"{self.url}/authorize?tenant=1",
                "token_endpoint": f"{self.url}/token",
            }
        path, _, query = asked.path.partition("?")
        if path == "/authorize":
            allow = f"""<link rel="icon" href="data:,"><h1>Loopback</h1>
                <a href="/allow?{query.replace("&", "&amp;")}">I am rita</a>"""
            return 200, Given(allow.encode(), {"Content-Type": "text/html"})
        if path == "/allow":
            return 303, Given(headers={"Location": self.let_in(asked.path)})
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
        if asked.path == "/token" and form["grant_type"] == "authorization_code":
            return self._exchange(form, asked.headers.get("Authorization", ""))
        if asked.path == "/token":
            return self.device.pop(0)
        return 404, {}
