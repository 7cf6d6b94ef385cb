"""Routes for whoever keeps the process running. They need no token and tell nothing of any fleet."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter

from libs.store.health import check_database
from libs.web.context import Context
from libs.web.model import ResponseModel
from libs.web.openapi import problems
from libs.web.problems import Problem

router = APIRouter(tags=["health"])


class Health(ResponseModel):
    """The process answers."""

    status: Literal["ok"] = "ok"


@router.get("/healthz", operation_id="get_health")
def get_health() -> Health:
    """Whether the process answers at all. Restart it where it does not."""
    return Health()


@router.get("/readyz", operation_id="get_readiness", responses=problems(503))
def get_readiness(context: Context) -> Health:
    """Whether it can do its work: the database is reachable and migrated."""
    trouble = check_database(context.database)
    if trouble is not None:
        raise Problem(503, "unavailable", f"Not ready: {trouble}.", headers={"Retry-After": "5"})
    return Health()
