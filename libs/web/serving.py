"""One or several services' routes as an HTTP process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI
from pydantic import Field
from pydantic_settings import SettingsConfigDict

from libs.observability.logs import configure_logging
from libs.observability.traces import configure_tracing
from libs.reconcile.environment import Settings, read_environment
from libs.reconcile.settings import ClockSettings
from libs.store.platform.database import Database
from libs.store.platform.settings import StoreSettings
from libs.web.app import create_app
from libs.web.listening import ListenSettings
from libs.web.rates import RateSettings

if TYPE_CHECKING:
    from libs.identity.identity import Identity


class ApiSettings(StoreSettings, ClockSettings, RateSettings):
    """The database, the clock, how fast clients may ask, and how much to log."""

    log_level: str = Field(default="INFO", validation_alias="PLIMSOLL_LOG_LEVEL")


class IdentitySettings(Settings):
    """The issuers whose tokens are taken besides the platform's own.

    issuers_file   PLIMSOLL_ISSUERS_FILE           YAML; None: there are none
    http_allowed   PLIMSOLL_ISSUERS_HTTP_ALLOWED   whether http to another host is allowed
    """

    model_config = SettingsConfigDict(env_ignore_empty=True)

    issuers_file: Path | None = Field(default=None, validation_alias="PLIMSOLL_ISSUERS_FILE")
    http_allowed: bool = Field(default=False, validation_alias="PLIMSOLL_ISSUERS_HTTP_ALLOWED")

    def identity(self) -> Identity | None:
        """Return the issuers, and begin to fetch their keys. Raises SystemExit with one line if the file is wrong."""
        if self.issuers_file is None:
            return None
        from libs.identity.identity import Identity  # here: signatures take code that most processes never need
        from libs.identity.yaml_places import FileError

        try:
            identity = Identity(self.issuers_file, http=self.http_allowed)
        except (FileError, OSError) as error:
            raise SystemExit(f"plimsoll: PLIMSOLL_ISSUERS_FILE: {error}") from error
        identity.start()
        return identity


def _nothing(app: FastAPI) -> None:
    """Most services need nothing more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceApi:
    """The routes of one service, for a process of its own or beside those of other services.

    large_bodies   paths, as templates, that take more than most, and how many bytes
    prepare        what else the app needs, before it answers
    """

    routers: Sequence[APIRouter]
    large_bodies: Mapping[str, int] = field(default_factory=dict)
    prepare: Callable[[FastAPI], None] = _nothing


def make_api(name: str, *services: ServiceApi) -> FastAPI:
    """Return the app that serves the routes of these services, with settings from the environment. `name` is the name
    of the process in its logs.
    """
    settings = read_environment(ApiSettings)
    configure_logging(name, level=settings.log_level)
    configure_tracing(name)
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
