"""Get tokens from an issuer by the device flow (RFC 8628): a person enters a code in any browser."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from libs.reconcile.outgoing import require_encrypted, trusted_by
from services.cli.failure import CliFailure

HTTP_ALLOWED = "PLIMSOLL_LOGIN_HTTP_ALLOWED"
_TIMEOUT_S = 20.0
_INTERVAL_S, _INTERVAL_S_MAX, _SLOW_DOWN_S = 5.0, 60.0, 5.0
_WAIT_S_MAX = 1800.0
_SHOWN_MAX = 500
_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
pause = time.sleep


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The tokens of a login. `expires_at` is in seconds since 1970; `refresh_token` is None if there is none."""

    access_token: str
    refresh_token: str | None
    expires_at: float


class LoginEnded(CliFailure):
    """The issuer no longer renews the login."""


class DeviceFlow:
    """The calls to one issuer for one client.

    http   whether http to another host is allowed
    """

    def __init__(self, issuer: str, client_id: str, *, http: bool = False) -> None:
        self._issuer, self._client_id, self._http_allowed = issuer, client_id, http
        self._require_encrypted(issuer)
        self._trusted = trusted_by(None)
        document = self._answer("GET", issuer.rstrip("/") + "/.well-known/openid-configuration")
        if document.get("issuer") != issuer:
            raise CliFailure(f"{issuer} describes another issuer: check the issuers' file of the platform")
        self._document = document

    def begin(self, scopes: str, audience: str, show: Callable[[str, str], None]) -> Callable[[], Tokens]:
        """Ask for a code, and pass the address and the code to `show`. Return what waits for the tokens."""
        form = {"client_id": self._client_id, "scope": scopes, "audience": audience}
        given = self._answer("POST", self._endpoint("device_authorization_endpoint"), form)
        device, code = (_text(given, name) for name in ("device_code", "user_code"))
        where = given.get("verification_uri_complete") or given.get("verification_uri") or given.get("verification_url")
        show(_text({"verification_uri": where}, "verification_uri"), code)
        return lambda: self._wait(device, given)

    def renew(self, refresh_token: str) -> Tokens:
        """Return new tokens. Raises LoginEnded if the issuer no longer renews the login."""
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token, "client_id": self._client_id}
        found = self._answer("POST", self._endpoint("token_endpoint"), form, errors=True)
        if "error" in found:
            raise LoginEnded(f"the login at {self._issuer} has ended: run `plimsoll login`")
        return _tokens(found, refresh_token)

    def _wait(self, device: str, given: Mapping[str, Any]) -> Tokens:
        interval_s = _seconds(given, "interval", _INTERVAL_S, most=_INTERVAL_S_MAX)
        until_s = time.monotonic() + _seconds(given, "expires_in", _WAIT_S_MAX, most=_WAIT_S_MAX)
        form = {"grant_type": _GRANT, "device_code": device, "client_id": self._client_id}
        while time.monotonic() < until_s:
            pause(interval_s)
            found = self._answer("POST", self._endpoint("token_endpoint"), form, errors=True)
            error = found.get("error")
            if error is None:
                return _tokens(found, None)
            if error == "slow_down":
                interval_s += _SLOW_DOWN_S
            elif error == "access_denied":
                raise CliFailure("the login was denied")
            elif error != "authorization_pending":
                break
        raise CliFailure("the code is no longer valid: run `plimsoll login` again")

    def _endpoint(self, name: str) -> str:
        url = self._document.get(name)
        if not isinstance(url, str):
            raise CliFailure(f"{self._issuer} names no {name}: it may not offer the device flow to this client")
        self._require_encrypted(url)
        return url

    def _require_encrypted(self, url: str) -> None:
        try:
            require_encrypted(url, plain_allowed=self._http_allowed, setting=HTTP_ALLOWED)
        except ValueError as error:
            raise CliFailure(f"{url}: {error}") from error

    def _answer(
        self, method: str, url: str, form: Mapping[str, str] | None = None, *, errors: bool = False
    ) -> Mapping[str, Any]:
        """Return a JSON object. With `errors`, one that has `error` is returned too. Raises CliFailure."""
        try:
            with httpx.Client(timeout=_TIMEOUT_S, trust_env=False, verify=self._trusted) as client:
                answer = client.request(method, url, data=None if form is None else dict(form))
        except httpx.HTTPError as error:
            raise CliFailure(f"{self._issuer} does not answer: {type(error).__name__}") from error
        try:
            found = answer.json()
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise CliFailure(f"{url} answered {answer.status_code}, and no JSON object")
        if answer.is_success or (errors and isinstance(found.get("error"), str)):
            return found
        raise CliFailure(f"{url} answered {answer.status_code}: {_printable(str(found.get('error', '')))}")


def _tokens(found: Mapping[str, Any], refresh_token: str | None) -> Tokens:
    access = found.get("access_token")
    if not isinstance(access, str) or access.count(".") != 2:
        raise CliFailure(
            "the issuer gave an access token that is no JSON web token: register the platform as an API there, "
            "and set its audience or scope in the issuers' file"
        )
    renewed = found.get("refresh_token", refresh_token)
    expires_in_s = _seconds(found, "expires_in", 300.0, most=1e9)
    return Tokens(
        access_token=access,
        refresh_token=renewed if isinstance(renewed, str) else None,
        expires_at=time.time() + expires_in_s,
    )


def _seconds(found: Mapping[str, Any], name: str, default: float, *, most: float) -> float:
    value = found.get(name, default)
    if isinstance(value, str) and value.isdecimal():  # some issuers send texts
        value = int(value)
    return min(max(0.0, float(value)), most) if isinstance(value, int | float) else default


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    if not isinstance(value, str) or not value:
        raise CliFailure(f"the issuer's answer has no {name}")
    return _printable(value) if name != "device_code" else value


def _printable(text: str) -> str:
    """Return a text of an issuer without what a terminal would obey."""
    return "".join(letter for letter in text[:_SHOWN_MAX] if letter.isprintable())
