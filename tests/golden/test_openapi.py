"""Check the OpenAPI document of the whole platform, noun by noun."""

from collections.abc import Iterator
from typing import Any

from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from libs.web import patterns
from libs.web.app import create_app
from services.broker.api import API as BROKER
from services.mover.api import API as MOVER
from services.orchestrator.api import API as ORCHESTRATOR
from services.planner.api import API as PLANNER
from services.portal.api import API as PORTAL
from services.solver.api import API as SOLVER
from tests.fixtures.golden import Golden
from tests.golden.openapi_text import parts


def document() -> dict[str, Any]:
    """Return the OpenAPI document of all services."""
    services = (PORTAL, BROKER, SOLVER, MOVER, PLANNER, ORCHESTRATOR)
    app = create_app(
        title="Plimsoll",
        version="0",
        database=Database("postgresql://nobody@127.0.0.1:1/none"),  # it connects to none
        clock=SystemClock(),
        routers=[router for service in services for router in service.routers],
    )
    return app.openapi()


def test_the_document_says_the_same(golden: Golden) -> None:
    found = parts(document())
    golden.check_all("openapi", {f"{noun.replace(' ', '-')}.json": text for noun, text in found.items()})


def asked_patterns(part: object) -> Iterator[str]:
    """Yield the patterns of texts that clients send. libs/web/generations.py has the words for If-Match."""
    if isinstance(part, dict) and part.get("name") != "If-Match":
        if isinstance(part.get("pattern"), str):
            yield part["pattern"]
        for inner in part.values():
            yield from asked_patterns(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from asked_patterns(inner)


def test_every_pattern_has_words_for_an_error() -> None:
    found = set(asked_patterns(document()))
    assert patterns.NAME in found
    assert found - patterns.WORDS.keys() == set()
