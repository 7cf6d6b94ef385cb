"""The objects of the process: the API's connections, the templates, and the clock."""

from __future__ import annotations

from dataclasses import dataclass, field

import httpx
from starlette.requests import Request

from libs.reconcile.clock import Clock
from libs.web.rates import Buckets
from services.pages.api import Api
from services.pages.issuers import Issuers
from services.pages.known_sessions import KnownSessions
from services.pages.rendering import Renderer


@dataclass(frozen=True, slots=True)
class Site:
    """The process. `attempts` limits logins by address, and `sessions` the cookies that an address may try. `issuers`
    has the issuers at which people may log in.
    """

    http: httpx.Client
    renderer: Renderer
    clock: Clock
    attempts: Buckets
    issuers: Issuers
    sessions: KnownSessions = field(default_factory=KnownSessions)

    def api(self, bearer: str) -> Api:
        """Return the API with the rights of a bearer."""
        return Api(self.http, bearer)


def site_of(request: Request) -> Site:
    """Return the process that has this request."""
    site = request.app.state.site
    assert isinstance(site, Site)
    return site
