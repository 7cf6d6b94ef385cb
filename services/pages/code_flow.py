"""Get a token from an issuer by the authorization code flow of OpenID Connect, with PKCE (RFC 7636)."""

from __future__ import annotations

import hmac
import time
from typing import Any
from urllib.parse import quote_plus

import httpx

from libs.identity.fetch import Asking, FetchFailed
from libs.identity.issuers import Issuer, KeySource
from libs.identity.keys import KeyRing, NoKeys, UnknownKey
from libs.identity.verify import TOKEN_LENGTH_MAX, Refused, unverified, verify
from services.pages.attempt import Attempt
from services.pages.issuers import PagesClient


class LoginFailed(Exception):
    """The login cannot go on. The message is for people."""


def address_of(client: PagesClient, attempt: Attempt) -> str:
    """Return the address at the issuer to which the browser goes. Raises LoginFailed."""
    try:
        with Asking(KeySource(issuer=client.issuer)) as asking:
            endpoint = asking.endpoint("authorization_endpoint")
    except FetchFailed as error:
        raise _silent(client, error) from error
    asked = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": client.redirect_uri,
        "scope": " ".join(client.scopes),
        "audience": client.audience,
        "state": attempt.state,
        "nonce": attempt.nonce,
        "code_challenge": attempt.challenge,
        "code_challenge_method": "S256",
    }
    return str(httpx.URL(endpoint).copy_merge_params(asked))


def fetch_bearer(client: PagesClient, attempt: Attempt, code: str) -> str:
    """Return the access token that the issuer gives for a code, after a check of the ID token. Raises LoginFailed."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": client.redirect_uri,
        "client_id": client.client_id,
        "code_verifier": attempt.verifier,
    }
    try:
        with Asking(KeySource(issuer=client.issuer)) as asking:
            endpoint, keys_url = asking.endpoint("token_endpoint"), asking.endpoint("jwks_uri")
            auth = _authentication(client, asking.discovered(), form)
            found = asking.document(endpoint, form, auth=auth)
    except FetchFailed as error:
        raise _silent(client, error) from error
    if "error" in found or not isinstance(found.get("id_token"), str):
        raise LoginFailed(_refusal(client, found))
    ring = KeyRing(client.name, KeySource(issuer=client.issuer, jwks_url=keys_url))
    ring.refresh()
    try:
        _check_id_token(found["id_token"], client, attempt, ring)
    except Refused as error:
        raise LoginFailed(f"{client.name} has sent an ID token that is not valid: {error}.") from error
    access = found.get("access_token")
    if not isinstance(access, str) or not access.isascii() or access.count(".") != 2 or len(access) > TOKEN_LENGTH_MAX:
        raise LoginFailed(
            f"{client.name} gave an access token that is no JSON web token for this platform. An administrator "
            "registers the platform as an API there, and sets its audience or scope in the issuers' file."
        )
    return access


def _authentication(client: PagesClient, document: dict[str, Any], form: dict[str, str]) -> httpx.Auth | None:
    """Return how to send the client's secret, or add it to the form if the issuer takes it only there."""
    if client.secret is None:
        return None
    ways = document.get("token_endpoint_auth_methods_supported")
    if isinstance(ways, list) and "client_secret_basic" not in ways:
        form["client_secret"] = client.secret
        return None
    return httpx.BasicAuth(quote_plus(client.client_id), quote_plus(client.secret))


def _check_id_token(token: str, client: PagesClient, attempt: Attempt, ring: KeyRing) -> None:
    """Check that the issuer made the token for this client and this attempt. Raises Refused."""
    issuer = Issuer(
        name=client.name,
        source=ring.source,
        audiences=(client.client_id,),
        algorithms=client.algorithms,
        token_types=("JWT",),
        person_claim="sub",
        login=None,
        rules=(),
    )
    header, _ = unverified(token)
    kid = header.get("kid")
    try:
        keys = ring.find(kid if isinstance(kid, str) else None)
    except (NoKeys, UnknownKey) as error:
        raise Refused("its key is not one of the issuer's") from error
    claims = verify(token, header, issuer, keys, now_s=time.time())
    if claims.get("iss") != client.issuer:
        raise Refused("another issuer made it")
    if claims.get("azp", client.client_id) != client.client_id:
        raise Refused("it was made for another client")
    if not hmac.compare_digest(str(claims.get("nonce")).encode("utf-8", "replace"), attempt.nonce.encode()):
        raise Refused("it is of another login")


def _refusal(client: PagesClient, found: dict[str, Any]) -> str:
    if found.get("error") == "invalid_grant":
        return f"{client.name} no longer takes this login: it was used already, or took too long. Log in again."
    if found.get("error") in ("invalid_client", "unauthorized_client"):
        return f"{client.name} does not take the pages for its client {client.client_id}. Tell your administrators."
    return f"{client.name} gave no ID token. Tell your administrators: the client there must be one of OpenID Connect."


def _silent(client: PagesClient, error: FetchFailed) -> LoginFailed:
    return LoginFailed(f"{client.name} gives no usable answer ({error}). Try again, or log in with a token.")
