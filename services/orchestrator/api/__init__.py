"""The orchestrator's routes: one router per resource."""

from libs.web.serving import ServiceApi
from services.orchestrator.api import (
    execution_commands,
    execution_figures,
    execution_timelines,
    freezes,
    plan_executions,
)

ROUTERS = (
    plan_executions.router,
    execution_commands.router,
    execution_timelines.router,
    execution_figures.router,
    freezes.router,
)
API = ServiceApi(routers=ROUTERS)
