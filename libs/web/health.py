"""Probe endpoints. They need no token and reveal nothing about any fleet.

Both are coroutines, and readiness has its own thread and connection. So a probe never waits behind requests.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Literal

from fastapi import APIRouter, Request

from libs.store.platform.database import Database
from libs.store.platform.health import check_database
from libs.web.model import ResponseModel
from libs.web.openapi import problems
from libs.web.problems import Problem

router = APIRouter(tags=["health"])
_KNOWN_S = 1.0
"""Seconds for which an answer of the database counts, so that frequent probes cause few queries."""
_WAIT_S_MAX = 5.0


class Readiness:
    """The readiness of the database: its last answer, for threads and event loops to share. At most one question runs
    at a time.
    """

    def __init__(self, database: Database) -> None:
        self._database = database.unpooled()
        self._thread = ThreadPoolExecutor(1, "readiness")
        self._lock = threading.Lock()
        self._asked: Future[str | None] | None = None
        self._known_until = 0.0

    async def trouble(self) -> str | None:
        """Return the reason why the process cannot work; None if it can work."""
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
    """Answer 200 while the process runs. Restart the process if this does not answer."""
    return Health()


@router.get("/readyz", operation_id="get_readiness", responses=problems(503))
async def get_readiness(request: Request) -> Health:
    """Answer 200 if the process can work: the database is reachable and migrated. Else answer 503."""
    readiness: Readiness = request.app.state.readiness
    trouble = await readiness.trouble()
    if trouble is not None:
        raise Problem(503, "unavailable", f"Not ready: {trouble}.", headers={"Retry-After": "5"})
    return Health()
