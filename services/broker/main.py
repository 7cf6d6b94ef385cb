"""Wire the broker: `uvicorn --factory services.broker.main:make_app`."""

from __future__ import annotations

from fastapi import FastAPI

from libs.observability.logs import configure_logging
from libs.observability.traces import configure_tracing
from libs.reconcile.environment import read_environment
from libs.store.database import Database
from libs.web.app import create_app
from services.broker.api import LARGE_BODIES, ROUTERS
from services.broker.settings import BrokerSettings


def make_app() -> FastAPI:
    """The broker, as the environment describes it."""
    settings = read_environment(BrokerSettings)
    configure_logging("broker", level=settings.log_level)
    configure_tracing("broker")
    return create_app(
        title="Plimsoll broker",
        version="1",
        database=Database.from_settings(settings),
        clock=settings.clock(),
        routers=ROUTERS,
        rates=settings.limits(),
        large_bodies=LARGE_BODIES,
    )
