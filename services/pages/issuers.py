"""The issuers at which people may log in to the pages, as the API names them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import httpx

from services.pages.api import Json

KEPT_S = 30.0
"""Seconds after which the API is asked again, so that a flood of visits to the login page is none for the API."""
RETRY_S = 3.0
"""Seconds after which the API is asked again that could not be reached."""
API_S_MAX = 5.0
"""Seconds that the login page waits for the API. Without its answer, people may still log in with a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesClient:
    """The pages as a client of an issuer.

    name           the issuer's name in the issuers' file
    issuer         its identifier, below which the discovery document lies
    audience       the platform, as access tokens name it
    algorithms     with which it may sign
    secret         None: the client has none
    redirect_uri   the address to which it sends people back. No other issuer has it, so an answer tells who sent it
    """

    name: str
    issuer: str
    client_id: str
    scopes: tuple[str, ...]
    audience: str
    algorithms: tuple[str, ...]
    secret: str | None
    redirect_uri: str


class Issuers:
    """The issuers with a client for the pages. Threads may share it.

    callback       the address below which each of them sends people back; None: there are no such logins
    secrets        the secrets of clients, by the issuer's name
    seconds        a clock that never goes back
    """

    def __init__(
        self,
        http: httpx.Client,
        callback: str | None = None,
        secrets: Mapping[str, str] | None = None,
        *,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._http, self.callback, self._secrets, self._seconds = http, callback, secrets or {}, seconds
        self._known: Sequence[PagesClient] = ()
        self._asked_s = float("-inf")

    @property
    def names(self) -> list[str]:
        """The names of the issuers, in the order of the issuers' file."""
        return [one.name for one in self._all()]

    def find(self, name: str) -> PagesClient | None:
        """Return the client at an issuer; None if people do not log in there."""
        return next((one for one in self._all() if one.name == name), None)

    def _all(self) -> Sequence[PagesClient]:
        """Return the clients. Without an answer of the API they stay as they were."""
        if self.callback is not None and self._seconds() - self._asked_s >= KEPT_S:
            self._asked_s = self._seconds()
            try:
                answer = self._http.get("/v1/issuers", timeout=API_S_MAX)
                if answer.is_success:
                    # During an upgrade, an older API may name no clients for the pages.
                    self._known = [self._client(one) for one in answer.json()["items"] if one.get("pages_client_id")]
            except httpx.TransportError:
                self._asked_s = self._seconds() - KEPT_S + RETRY_S
            except ValueError:  # no JSON, as from a proxy between the two
                pass
        return self._known

    def _client(self, given: Json) -> PagesClient:
        # A session keeps no refresh token, so none is asked for.
        scopes = tuple(scope for scope in given["scopes"] if scope != "offline_access")
        return PagesClient(
            name=given["name"],
            issuer=given["issuer"],
            client_id=given["pages_client_id"],
            scopes=scopes if "openid" in scopes else ("openid", *scopes),
            audience=given["audience"],
            algorithms=tuple(given["algorithms"]),
            secret=self._secrets.get(given["name"]),
            redirect_uri=f"{self.callback}/{given['name']}",
        )
