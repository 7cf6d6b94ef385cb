"""One or several services' routes as an HTTP process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

from fastapi import APIRouter, FastAPI

from libs.observability.logs import configure_logging
from libs.observability.traces import configure_tracing
from libs.reconcile.environment import read_environment, wrong_in_one_line
from libs.store.platform.database import Database
from libs.web.app import create_app
from libs.web.listening import ListenSettings
from libs.web.settings import ApiSettings, IdentitySettings


def _nothing(app: FastAPI) -> None:
    """Most services need nothing more."""


def _no_settings() -> None:
    """Most routes need no settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceApi:
    """The routes of one service, for a process of its own or beside those of other services.

    large_bodies   paths, as templates, that take more than most, and how many bytes
    prepare        what else the app needs, before it answers
    read_settings  reads all settings of the routes at the start, so that a wrong setting fails then
    """

    routers: Sequence[APIRouter]
    large_bodies: Mapping[str, int] = field(default_factory=dict)
    prepare: Callable[[FastAPI], None] = _nothing
    read_settings: Callable[[], object] = _no_settings


def make_api(name: str, *services: ServiceApi) -> FastAPI:
    """Return the app that serves the routes of these services, with settings from the environment. `name` is the name
    of the process in its logs.
    """
    settings = read_environment(ApiSettings)
    configure_logging(name, level=settings.log_level)
    configure_tracing(name)
    for service in services:
        wrong_in_one_line(service.read_settings)
    app = create_app(
        title="Plimsoll" if len(services) > 1 else f"Plimsoll {name}",
        version=version("plimsoll"),
        database=Database.from_settings(settings),
        clock=settings.clock(),
        routers=[router for service in services for router in service.routers],
        large_bodies={path: size for service in services for path, size in service.large_bodies.items()},
        rates=settings.limits(),
        identity=read_environment(IdentitySettings).identity(),
    )
    for service in services:
        service.prepare(app)
    return app


def serve_api(name: str, *services: ServiceApi) -> None:
    """Answer HTTP until told to stop."""
    import uvicorn  # here: making an app for a test needs no server

    listen = read_environment(ListenSettings)
    uvicorn.run(
        make_api(name, *services),
        host=listen.host,
        port=listen.port,
        access_log=False,
        log_level="warning",
        proxy_headers=listen.trusted_proxies is not None,
        forwarded_allow_ips=listen.trusted_proxies,
    )
