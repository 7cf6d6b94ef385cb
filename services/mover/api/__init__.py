"""The mover's routes: one router per resource."""

from libs.web.serving import ServiceApi
from services.mover.api import movers, moves, urgent_departures, waits

ROUTERS = (moves.router, movers.router, waits.router, urgent_departures.router)
API = ServiceApi(routers=ROUTERS)
