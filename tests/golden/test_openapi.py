"""Check the OpenAPI document of the whole platform, noun by noun."""

from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from libs.web.app import create_app
from services.broker.api import API as BROKER
from services.mover.api import API as MOVER
from services.orchestrator.api import API as ORCHESTRATOR
from services.planner.api import API as PLANNER
from services.portal.api import API as PORTAL
from services.solver.api import API as SOLVER
from tests.fixtures.golden import Golden
from tests.golden.openapi_text import parts


def test_the_document_says_the_same(golden: Golden) -> None:
    services = (PORTAL, BROKER, SOLVER, MOVER, PLANNER, ORCHESTRATOR)
    app = create_app(
        title="Plimsoll",
        version="0",
        database=Database("postgresql://nobody@127.0.0.1:1/none"),  # it connects to none
        clock=SystemClock(),
        routers=[router for service in services for router in service.routers],
    )
    golden.check_all("openapi", {f"{noun.replace(' ', '-')}.json": text for noun, text in parts(app.openapi()).items()})
