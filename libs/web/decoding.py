"""What this process decodes for its clients: bounded in bytes of memory, and in how much of it goes on at once.

A route that decodes files takes `dependencies=[Depends(room)]` before its body is read, and a parameter `Slot`
behind it. Nothing waits in a thread: who finds no room is told when to come again.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Request
from pydantic import Field

from libs.interchange.decoded import charge, charging
from libs.reconcile.environment import Settings
from libs.web.problems import Problem

SLOTS = 4
"""Bodies that are decoded at a time: more would keep the process from answering anything else."""
SLOT_S_MAX = 1.0
_BODY_FACTOR = 2
"""A body in one piece: what has come of it, and all of it."""
_RETRY_S = 2
_LOOK_S = 0.02


class DecodingSettings(Settings):
    """How many bytes of memory what is decoded may take in one process, all requests together."""

    decoding_bytes: int = Field(default=800 << 20, ge=1 << 20, validation_alias="PLIMSOLL_DECODING_BYTES")


class DecodingBudget:
    """The memory and the slots of one process. Threads and event loops share it."""

    def __init__(self, bytes_max: int, *, slots: int = SLOTS) -> None:
        self.bytes_max = bytes_max
        self.slots = threading.BoundedSemaphore(slots)
        self.used = 0
        self._lock = threading.Lock()

    def take(self, size: int) -> None:
        """Raises Problem (429) where others hold so much that this does not fit as well."""
        with self._lock:
            if self.used + size > self.bytes_max:
                raise _busy("Too much is being decoded")
            self.used += size

    def give(self, size: int) -> None:
        """Back to the others."""
        with self._lock:
            self.used -= size


class Allowance:
    """What one request has taken of the budget: the purse of its task and threads."""

    def __init__(self, budget: DecodingBudget) -> None:
        self._budget, self._lock, self._taken = budget, threading.Lock(), 0

    def take(self, size: int) -> None:
        """Raises Problem: 413 where it would not fit if there were no other request, 429 where it does not now."""
        with self._lock:
            if self._taken + size > self._budget.bytes_max:
                most = self._budget.bytes_max >> 20
                detail = f"This would take more than the {most} MiB of memory that decoding may take: split it."
                raise Problem(413, "too_large", detail)
            self._budget.take(size)
            self._taken += size

    def give(self, size: int) -> None:
        """What was decoded is no longer held."""
        with self._lock:
            self._taken -= size
        self._budget.give(size)

    def close(self) -> None:
        """Give back all that is left."""
        self.give(self._taken)


async def room(request: Request) -> AsyncIterator[None]:
    """Until the answer is out, what is decoded for the request counts; a body in one piece, as announced, twice."""
    allowance = Allowance(request.app.state.decoding)
    charging(allowance)
    announced = request.headers.get("Content-Length", "")
    try:
        # A form is kept in files. Of a body without a length the limit of bodies is all that is known.
        if not request.headers.get("Content-Type", "").lower().startswith("multipart/"):
            body = int(announced) if announced.isdecimal() else request.scope["state"].get("body_bytes_max", 0)
            charge(_BODY_FACTOR * body)
        yield
    finally:
        allowance.close()


async def _slot(request: Request) -> AsyncIterator[None]:
    slots, until = request.app.state.decoding.slots, time.monotonic() + SLOT_S_MAX
    while not slots.acquire(blocking=False):
        if time.monotonic() > until:
            raise _busy("Too many bodies are being decoded")
        await asyncio.sleep(_LOOK_S)
    try:
        yield
    finally:
        slots.release()


Slot = Annotated[None, Depends(_slot)]
"""A parameter of a route, behind those that read the body: it runs when few others decode."""


def _busy(what: str) -> Problem:
    detail = f"{what}: try again in {_RETRY_S} s. Nothing was done."
    return Problem(429, "rate_limited", detail, headers={"Retry-After": str(_RETRY_S)})
