"""The mover's routes: one router per resource."""

from libs.web.serving import ServiceApi
from services.mover.api import movers, moves

ROUTERS = (moves.router, movers.router)
API = ServiceApi(routers=ROUTERS)
