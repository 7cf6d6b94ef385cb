"""The solver's routes: one router per resource."""

from libs.web.serving import ServiceApi
from services.solver.api import simulations, solve_runs

ROUTERS = (solve_runs.router, simulations.router)
API = ServiceApi(routers=ROUTERS)
