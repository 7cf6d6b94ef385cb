"""The mover's routes: one router per resource."""

from services.mover.api import movers, moves

ROUTERS = (moves.router, movers.router)
"""For create_app."""
