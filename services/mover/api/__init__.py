"""The mover's routes: one router per resource."""

from libs.web.serving import ServiceApi
from services.mover.api import loans, move_counts, movers, moves, replacements, urgent_departures, waits

ROUTERS = (
    moves.router,
    move_counts.router,
    movers.router,
    waits.router,
    loans.router,
    replacements.router,
    urgent_departures.router,
)
API = ServiceApi(routers=ROUTERS)
