"""Routes for whoever keeps the process running. They need no token and tell nothing of any fleet.

Both are coroutines, and readiness has a thread and a connection of its own: what requests wait for, a probe does not.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Literal

from fastapi import APIRouter, Request

from libs.store.database import Database
from libs.store.health import check_database
from libs.web.model import ResponseModel
from libs.web.openapi import problems
from libs.web.problems import Problem

router = APIRouter(tags=["health"])
_KNOWN_S = 1.0
"""For so long an answer of the database holds, for however many ask."""
_WAIT_S_MAX = 5.0


class Readiness:
    """What the database said a moment ago. Threads and event loops may share it; it asks once at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database.unpooled()
        self._thread = ThreadPoolExecutor(1, "readiness")
        self._lock = threading.Lock()
        self._asked: Future[str | None] | None = None
        self._known_until = 0.0

    async def trouble(self) -> str | None:
        """What keeps the process from working; None where nothing does."""
        asked = asyncio.wrap_future(self._question())
        try:
            return await asyncio.wait_for(asyncio.shield(asked), _WAIT_S_MAX)
        except TimeoutError:
            return f"the database has not answered for {_WAIT_S_MAX:g} s"

    def _question(self) -> Future[str | None]:
        with self._lock:
            if self._asked is None or (self._asked.done() and time.monotonic() > self._known_until):
                self._asked = self._thread.submit(self._ask)
            return self._asked

    def _ask(self) -> str | None:
        try:
            return check_database(self._database)
        finally:
            self._known_until = time.monotonic() + _KNOWN_S


class Health(ResponseModel):
    """The process answers."""

    status: Literal["ok"] = "ok"


@router.get("/healthz", operation_id="get_health")
async def get_health() -> Health:
    """Whether the process answers at all. Restart it where it does not."""
    return Health()


@router.get("/readyz", operation_id="get_readiness", responses=problems(503))
async def get_readiness(request: Request) -> Health:
    """Whether it can do its work: the database is reachable and migrated."""
    readiness: Readiness = request.app.state.readiness
    trouble = await readiness.trouble()
    if trouble is not None:
        raise Problem(503, "unavailable", f"Not ready: {trouble}.", headers={"Retry-After": "5"})
    return Health()
