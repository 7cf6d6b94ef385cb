"""The portal's routes: one router per resource."""

from libs.web.serving import ServiceApi
from services.portal.api import (
    applications,
    approval_effects,
    approval_figures,
    approval_limits,
    approvals,
    capacity_requests,
    explanations,
    quotas,
    reservation_history,
    reservation_names,
    reservation_servers,
    reservation_under_way,
    reservations,
    rru_classes,
    server_explanations,
    sessions,
    tokens,
)
from services.portal.solving_code import load_solving_code

ROUTERS = (
    capacity_requests.router,
    reservations.router,
    reservation_servers.router,
    reservation_under_way.router,
    reservation_history.router,
    reservation_names.router,
    approvals.router,
    approval_effects.router,
    approval_figures.router,
    approval_limits.router,
    applications.router,
    quotas.router,
    rru_classes.router,
    explanations.router,
    server_explanations.router,
    sessions.router,
    tokens.router,
)
API = ServiceApi(routers=ROUTERS, prepare=lambda app: load_solving_code())
