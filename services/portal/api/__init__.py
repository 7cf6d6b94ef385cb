"""The portal's routes: one router per resource."""

from services.portal.api import (
    applications,
    approval_limits,
    approvals,
    capacity_requests,
    explanations,
    quotas,
    reservation_servers,
    reservations,
    tokens,
)

ROUTERS = (
    capacity_requests.router,
    reservations.router,
    reservation_servers.router,
    approvals.router,
    approval_limits.router,
    applications.router,
    quotas.router,
    explanations.router,
    tokens.router,
)
"""For create_app: alone in services.portal.main, or beside another service's in one process."""
