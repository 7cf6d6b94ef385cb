"""Ask an issuer for its keys and other documents, within bounds of time and size."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey, import_key

from libs.identity.issuers import KeySource
from libs.identity.issuers_file import HTTP_ALLOWED
from libs.reconcile.outgoing import require_encrypted, trusted_by

ANSWER_BYTES_MAX = 1 << 20
FETCH_S_MAX = 10.0
_SILENCE_S_MAX = 5.0
KEYS_MAX = 100
RSA_BITS = range(2048, 8193)
DISCOVERY = "/.well-known/openid-configuration"
_KINDS = ("RSA", "EC", "OKP")


class FetchFailed(Exception):
    """The issuer gave no keys. The message names no value of an answer."""


def fetch_keys(source: KeySource) -> tuple[Key, ...]:
    """Return the public keys with which the issuer signs. Raises FetchFailed.

    Keys of other kinds and uses are left out: a symmetric one above all, because anybody could sign with it.
    """
    with Asking(source) as asking:
        url = source.jwks_url or asking.endpoint("jwks_uri")
        found = asking.document(url).get("keys")
    if not isinstance(found, list) or not found:
        raise FetchFailed("the answer has no list of keys")
    if len(found) > KEYS_MAX:
        raise FetchFailed(f"the answer has {len(found)} keys; at most {KEYS_MAX} are read")
    keys = tuple(key for one in found if (key := _key(one)) is not None)
    if not keys:
        raise FetchFailed("the answer has no public key for signatures")
    return keys


class Asking:
    """Calls to one issuer, which together take FETCH_S_MAX at the most. A `with` turns each error into FetchFailed."""

    def __init__(self, source: KeySource) -> None:
        self._source, self._until_s = source, time.monotonic() + FETCH_S_MAX
        self._discovered: dict[str, Any] | None = None

    def __enter__(self) -> Asking:
        try:
            headers = {"Accept-Encoding": "identity"}
            if self._source.token_file is not None:
                headers["Authorization"] = f"Bearer {self._source.token_file.read_text().strip()}"
            trusted = trusted_by(self._source.ca)
        except (OSError, ValueError) as error:
            raise FetchFailed(type(error).__name__) from error
        self._client = httpx.Client(headers=headers, timeout=_SILENCE_S_MAX, trust_env=False, verify=trusted)
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._client.close()
        if isinstance(error, httpx.HTTPError | httpx.InvalidURL | UnicodeError | OSError | ValueError):
            raise FetchFailed(type(error).__name__) from error

    def discovered(self) -> dict[str, Any]:
        """Return the discovery document. Raises FetchFailed if it is of another issuer."""
        if self._discovered is None:
            document = self.document(self._source.issuer.rstrip("/") + DISCOVERY)
            if document.get("issuer") != self._source.issuer:
                raise FetchFailed("the discovery document is of another issuer")
            self._discovered = document
        return self._discovered

    def endpoint(self, name: str) -> str:
        """Return an address of the discovery document. Raises FetchFailed."""
        url = self.discovered().get(name)
        if not isinstance(url, str) or not url.startswith(("https://", "http://")):
            raise FetchFailed(f"the discovery document names no {name}")
        try:
            httpx.URL(url)
        except httpx.InvalidURL as error:
            raise FetchFailed(f"{name} of the discovery document is no address") from error
        require_encrypted(url, plain_allowed=self._source.http, setting=HTTP_ALLOWED)
        return url

    def document(
        self, url: str, form: Mapping[str, str] | None = None, *, auth: httpx.Auth | None = None
    ) -> dict[str, Any]:
        """Return a JSON object. With a form, send that; then an answer with status 400 or 401 is returned too.

        Follow no redirect: answers come only from the host that the file names. Raises FetchFailed.
        """
        statuses = (200,) if form is None else (200, 400, 401)
        with self._client.stream("GET" if form is None else "POST", url, data=form, auth=auth) as answer:
            if answer.status_code not in statuses:
                raise FetchFailed(f"the answer has status {answer.status_code}")
            if "Content-Encoding" in answer.headers:
                raise FetchFailed("the answer is compressed, which was not asked for")
            content = _within(answer, self._until_s, time.monotonic)
        try:
            document = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise FetchFailed("the answer is not JSON") from error
        if not isinstance(document, dict):
            raise FetchFailed("the answer is no JSON object")
        return document


def _within(answer: httpx.Response, until_s: float, seconds: Callable[[], float]) -> bytes:
    """Return the content. A sender of one byte at a time is never silent, so the whole time is bounded too."""
    content = bytearray()
    for part in answer.iter_raw(65_536):
        content += part
        if len(content) > ANSWER_BYTES_MAX:
            raise FetchFailed(f"the answer has more than {ANSWER_BYTES_MAX:,} bytes")
        if seconds() > until_s:
            raise FetchFailed(f"the answer took more than {FETCH_S_MAX:g} s")
    return bytes(content)


def _key(given: object) -> Key | None:
    """Return a key for signatures, or None if it is none that we use."""
    if not isinstance(given, dict) or given.get("kty") not in _KINDS or given.get("use", "sig") != "sig":
        return None
    if len(str(given.get("n", ""))) > 2 * RSA_BITS.stop // 8:
        return None
    public = {name: value for name, value in given.items() if name in ("kty", "kid", "alg", "n", "e", "crv", "x", "y")}
    try:
        key = import_key(public)
        fits = not isinstance(key, RSAKey) or key.public_key.key_size in RSA_BITS
    except (JoseError, ValueError, TypeError):
        return None
    return key if fits and isinstance(key, RSAKey | ECKey | OKPKey) else None
