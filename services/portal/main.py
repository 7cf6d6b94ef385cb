"""Wire the portal: `uvicorn --factory services.portal.main:make_app`."""

from __future__ import annotations

from fastapi import FastAPI

from libs.observability.logs import configure_logging
from libs.observability.traces import configure_tracing
from libs.reconcile.environment import read_environment
from libs.store.database import Database
from libs.web.app import create_app
from services.portal.api import ROUTERS
from services.portal.settings import PortalSettings
from services.portal.solving_code import load_solving_code


def make_app() -> FastAPI:
    """The portal, as the environment describes it."""
    settings = read_environment(PortalSettings)
    configure_logging("portal", level=settings.log_level)
    configure_tracing("portal")
    app = create_app(
        title="Plimsoll portal",
        version="1",
        database=Database.from_settings(settings),
        clock=settings.clock(),
        routers=ROUTERS,
        rates=settings.limits(),
    )
    load_solving_code()
    return app
