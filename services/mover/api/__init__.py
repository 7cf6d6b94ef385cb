"""The mover's routes: one router per resource."""

from services.mover.api import moves

ROUTERS = (moves.router,)
"""For create_app."""
