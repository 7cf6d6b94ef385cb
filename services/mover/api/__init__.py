"""The mover's routes: one router per resource."""

from libs.web.serving import ServiceApi
from services.mover.api import loans, move_counts, movers, moves, replacements, urgent_departures, waits
from services.mover.settings import read_api_settings

ROUTERS = (
    moves.router,
    move_counts.router,
    movers.router,
    waits.router,
    loans.router,
    replacements.router,
    urgent_departures.router,
)
API = ServiceApi(routers=ROUTERS, read_settings=read_api_settings)
