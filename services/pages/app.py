"""The pages as an ASGI app: the routes, and the answers to errors."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from urllib.parse import quote

import httpx
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from structlog import get_logger

from libs.observability.logs import configure_logging
from libs.reconcile.clock import Clock
from libs.reconcile.environment import read_environment
from services.pages import issuer_login, login
from services.pages.api import ApiProblem, ApiUnreachable
from services.pages.cookie import drop_secret, read_secret
from services.pages.guard import Guard
from services.pages.issuers import Issuers
from services.pages.rendering import Renderer
from services.pages.settings import CALLBACK, PagesSettings
from services.pages.site import Site, site_of
from services.pages.static_files import read_static_files, serve_static
from services.pages.views import FORMS, VIEWS
from services.pages.views.source import show_source
from services.pages.visit import Shown, View, Visit

log = get_logger(__name__)


def make_app() -> Starlette:
    """Return the app, as the environment configures it."""
    settings = read_environment(PagesSettings)
    configure_logging("pages", level=settings.log_level)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # else a line for each call
    http = httpx.Client(
        base_url=settings.api_url,
        timeout=settings.api_s_max,
        trust_env=False,
        limits=httpx.Limits(max_connections=100, max_keepalive_connections=40),
    )
    secrets = {name: secret.get_secret_value() for name, secret in settings.client_secrets.items()}
    return create_pages(http, settings.clock(), Issuers(http, settings.redirect_uri, secrets))


def create_pages(http: httpx.Client, clock: Clock, issuers: Issuers | None = None) -> Starlette:
    """Return the app over these connections to the API. Without `issuers`, people log in with tokens alone."""
    files = read_static_files()
    app = Starlette(
        routes=[
            *_routes(),
            *(page_route(path, view) for path, view in VIEWS),
            *(page_route(path, view, takes_forms=True) for path, view in FORMS),
        ],
        middleware=[Middleware(Guard)],
        exception_handlers={HTTPException: _on_http_exception, Exception: _on_fault},
    )
    app.state.static_files = files
    app.state.site = Site(
        http=http,
        renderer=Renderer(files),
        clock=clock,
        attempts=login.new_attempts(),
        issuers=issuers or Issuers(http),
    )
    return app


def _routes() -> Sequence[BaseRoute]:
    return (
        Route("/healthz", _healthz),
        Route("/readyz", _readyz),
        Route("/favicon.ico", _favicon),
        Route("/static/{version}/{name:path}", serve_static),
        Route("/login", login.show_login, methods=["GET"]),
        Route("/login", _log_in, methods=["POST"]),
        Route("/login/with/{issuer}", issuer_login.begin, methods=["GET"]),
        Route(CALLBACK + "/{issuer}", issuer_login.end, methods=["GET"]),
        Route("/logout", login.log_out, methods=["POST"]),
        page_route("/json/{path:path}", show_source),
    )


def page_route(path: str, view: View, *, takes_forms: bool = False) -> Route:
    """Return the route of a page, for people who are logged in."""

    async def answer(request: Request) -> Response:
        form = await login.read_form(request) if request.method == "POST" else {}
        return await run_in_threadpool(_show, request, view, form)

    return Route(path, answer, methods=["GET", "POST"] if takes_forms else ["GET"])


def _show(request: Request, view: View, form: dict[str, str]) -> Response:
    site, secret = site_of(request), read_secret(request)
    if secret is None:
        return _to_login(request, ended=False)
    wait_s = site.sessions.wait_s(request, secret)
    if wait_s > 0:
        said = f"Your address has sent too many sessions that are not open. Try again in {math.ceil(wait_s)} s."
        return site.renderer.alone("trouble.html", status=429, title="Too many requests", detail=said)
    visit: Visit | None = None
    try:
        api = site.api(secret)
        who = api.get("/v1/whoami")
        site.sessions.note(secret, is_open=True)
        visit = Visit(request=request, api=api, who=who, now=site.clock.now(), form=form)
        shown = view(visit)
        return site.renderer.page(visit, shown) if isinstance(shown, Shown) else shown
    except ApiProblem as problem:
        if problem.status == 401:
            site.sessions.note(secret, is_open=False)
            return _to_login(request, ended=True)
        return _trouble(site, visit, problem)
    except ApiUnreachable:
        said = "The API does not answer. The platform may be starting: try again in some seconds."
        return site.renderer.alone("trouble.html", status=503, title="The platform does not answer", detail=said)


def _trouble(site: Site, visit: Visit | None, problem: ApiProblem) -> Response:
    title, detail, status = problem.title, problem.detail, problem.status
    if visit is None or visit.is_fragment:
        return site.renderer.alone("trouble.html", status=status, title=title, detail=detail)
    shown = Shown(
        template="problem.html",
        title=title,
        command=("status",),
        sources=(),
        status=status,
        values={"detail": detail, "way": problem.way},
    )
    try:
        return site.renderer.page(visit, shown)
    except (ApiProblem, ApiUnreachable):  # the navigation cannot be read either
        return site.renderer.alone("trouble.html", status=status, title=title, detail=detail)


def _to_login(request: Request, *, ended: bool) -> Response:
    """Return the way to the login and back. A form that was sent stays in its window, or its fields would be lost."""
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    back = quote(wanted, safe="/") if request.method == "GET" else "/"
    where = f"/login?next={back}" + ("&ended=1" if ended else "")
    if request.headers.get("HX-Request") == "true":
        return Response(status_code=204, headers={"HX-Redirect": where})
    response: Response = RedirectResponse(where, 303)
    if request.method == "POST":
        response = site_of(request).renderer.alone("session_ended.html", status=401)
    if ended:
        drop_secret(request, response)
    return response


async def _log_in(request: Request) -> Response:
    form = await login.read_form(request)
    return await run_in_threadpool(login.log_in, request, form)


async def _healthz(request: Request) -> Response:
    return PlainTextResponse("ok\n")


def _readyz(request: Request) -> Response:
    """Say whether the API behind the pages is ready."""
    try:
        answer = site_of(request).http.get("/readyz", timeout=5)
    except httpx.TransportError:
        return PlainTextResponse("the API does not answer\n", 503)
    return PlainTextResponse(
        "ok\n" if answer.is_success else "the API is not ready\n", 200 if answer.is_success else 503
    )


def _favicon(request: Request) -> Response:
    return RedirectResponse(request.app.state.static_files["plimsoll.svg"].url, 308)


def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    titles = {404: "There is no such page", 405: "This page takes no such request"}
    title = titles.get(error.status_code, "The request cannot be read")
    alone = site_of(request).renderer.alone
    return alone(
        "trouble.html", status=error.status_code, title=title, detail="The first page has a way to every other."
    )


def _on_fault(request: Request, error: Exception) -> Response:
    log.error("page.failed", path=request.url.path, exc_info=error)
    said = "The server has logged the fault. Try again, or tell your operators the time."
    return site_of(request).renderer.alone("trouble.html", status=500, title="This page failed", detail=said)
