"""The app factory of every HTTP process of Plimsoll."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from prometheus_client import CollectorRegistry
from starlette.exceptions import HTTPException

from libs.domain.principal import Role
from libs.domain.stored_policy import UnknownPrices
from libs.domain.words import as_sentence
from libs.reconcile.clock import Clock
from libs.reconcile.environment import read_environment
from libs.reconcile.errors import StaleGeneration, StalePlan
from libs.store.platform.database import Database
from libs.store.platform.errors import UNAVAILABLE
from libs.store.platform.refusals import AlreadyExists, HasGuests, NotFound, NotPossible
from libs.web import health, metrics, reference, whoami
from libs.web.auth import Authentication, require, unavailable
from libs.web.bodies import BodyLimit
from libs.web.context import WebContext
from libs.web.database_metrics import DatabaseCollector
from libs.web.decoding import DecodingBudget
from libs.web.openapi import document
from libs.web.problems import FieldError, Problem, invalid, not_found
from libs.web.rates import RateLimits
from libs.web.requests import RequestScope
from libs.web.settings import DecodingSettings
from libs.web.validation import problem_of, refuse_unknown_query

if TYPE_CHECKING:
    from libs.identity.identity import Identity

_PATH_SHOWN = 200
"""Largest number of characters of a request's path that an answer repeats."""


def create_app(
    *,
    title: str,
    version: str,
    database: Database,
    clock: Clock,
    routers: Sequence[APIRouter],
    large_bodies: Mapping[str, int] | None = None,
    rates: RateLimits | None = None,
    identity: Identity | None = None,
) -> FastAPI:
    """Return an app with these routers, each with its whole prefix (`/v1/...`). All of their routes need a token.

    Every route needs at least a viewer's token. A route that writes adds
    `dependencies=[Depends(require(Role.REQUESTER))]` or a higher role.

    large_bodies   path template -> bytes that it takes, for paths that take more than BODY_BYTES_MAX
    rates          limits on the requests of one client; None: no limit
    identity       issuers whose tokens are taken besides the platform's own; None: no others
    """
    app = FastAPI(
        title=title,
        version=version,
        description="Plimsoll, an open capacity control plane. Errors are problem documents (RFC 9457).",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # libs.web.requests makes the span of a request. FastAPI's own would begin within it, and its logs would contain
        # texts of exceptions, which may be secret.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.context = WebContext(database, clock)
    app.state.database_metrics = CollectorRegistry()
    app.state.database_metrics.register(DatabaseCollector(database))
    app.state.decoding = DecodingBudget(read_environment(DecodingSettings).decoding_bytes)
    app.state.readiness = health.Readiness(database)
    app.state.identity = identity
    app.add_middleware(BodyLimit, large_bodies=large_bodies or {})
    app.add_middleware(Authentication, database=database, clock=clock, rates=rates, routers=routers, identity=identity)
    app.add_middleware(RequestScope)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(StaleGeneration, _on_stale_generation)
    app.add_exception_handler(StalePlan, _on_stale_plan)
    app.add_exception_handler(NotFound, _on_not_found)
    app.add_exception_handler(AlreadyExists, _on_already_exists)
    app.add_exception_handler(NotPossible, _on_not_possible)
    app.add_exception_handler(HasGuests, _on_guests)
    app.add_exception_handler(UnknownPrices, _on_unknown_prices)
    for unreachable in UNAVAILABLE:
        app.add_exception_handler(unreachable, _on_unavailable)
    app.include_router(health.router, dependencies=[Depends(refuse_unknown_query)])
    app.include_router(reference.router)
    app.include_router(whoami.router, dependencies=[Depends(refuse_unknown_query)])
    for router in (metrics.router, *routers):
        app.include_router(router, dependencies=[Depends(require(Role.VIEWER)), Depends(refuse_unknown_query)])
    # Make it now. Else the first request would make it, and so would each request that arrives meanwhile.
    schema = document(app)
    app.openapi = lambda: schema  # type: ignore[method-assign]  # the way that FastAPI documents
    return app


def _answer(request: Request, problem: Problem) -> JSONResponse:
    request.state.problem_code = problem.code
    return problem.response(getattr(request.state, "request_id", None))


def _on_http_exception(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if isinstance(error, Problem):
        return _answer(request, error)
    codes = {400: "bad_request", 404: "not_found", 405: "method_not_allowed"}
    path = request.scope["path"]
    path = path if len(path) <= _PATH_SHOWN else f"{path[:_PATH_SHOWN]}..."
    details = {
        400: "The body cannot be read.",
        404: f"There is no {path} here: /docs lists all paths.",
        405: f"{request.method[:20]} is not allowed on {path}.",
    }
    status = error.status_code if error.status_code in codes else 400
    return _answer(request, Problem(status, codes[status], details[status], headers=error.headers))


def _on_invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return _answer(request, problem_of(request, error))


def _on_stale_generation(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, StaleGeneration)
    detail, expected, found = as_sentence(str(error)), error.expected, error.found
    problem = Problem(409, "stale_generation", detail, expected_generation=expected, found_generation=found)
    return _answer(request, problem)


def _on_stale_plan(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, StalePlan)
    return _answer(request, Problem(409, "stale_plan", as_sentence(str(error))))


def _on_not_found(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, NotFound)
    return _answer(request, not_found(error.noun, error.identifier))


def _on_already_exists(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, AlreadyExists)
    return _answer(request, Problem(409, "duplicate_name", as_sentence(f"{error}: {error.todo}")))


def _on_not_possible(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, NotPossible)
    return _answer(
        request, invalid(FieldError(field=error.field, location="body", code="not_possible", message=str(error)))
    )


def _on_guests(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HasGuests)
    return _answer(request, Problem(409, "has_guests", str(error), guests=list(error.guests)))


def _on_unknown_prices(request: Request, error: Exception) -> JSONResponse:
    """Answer as if this process were away: one of the newer version behind the same address can answer."""
    assert isinstance(error, UnknownPrices)
    text, headers = str(error), {"Retry-After": "5"}
    return _answer(request, Problem(503, "newer_policy", as_sentence(text), headers=headers))


def _on_unavailable(request: Request, error: Exception) -> JSONResponse:
    return _answer(request, unavailable())
