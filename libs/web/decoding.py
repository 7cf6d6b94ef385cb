"""Bounds on decoding in one process: bytes of memory, and bodies at a time.

A route that decodes files takes `dependencies=[Depends(room)]`, which applies before its body is read, and a parameter
`Slot` after the body. No thread waits for room: the client gets a 429 with Retry-After.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Request

from libs.interchange.files.decoded import charge, charging
from libs.web.problems import Problem

SLOTS = 4
"""Largest number of bodies that are decoded at a time. More bodies would keep the process from answering other
requests.
"""
SLOT_S_MAX = 1.0
_BODY_FACTOR = 2
"""Number of copies of a body in memory while the body is read: its chunks, and the joined body."""
_RETRY_S = 2
_LOOK_S = 0.02


class DecodingBudget:
    """The memory and the slots for decoding in one process. All threads and event loops of the process share one
    budget. A slot is the permission to decode one body.
    """

    def __init__(self, bytes_max: int, *, slots: int = SLOTS) -> None:
        self.bytes_max = bytes_max
        self.slots = threading.BoundedSemaphore(slots)
        self.used = 0
        self._lock = threading.Lock()

    def take(self, size: int) -> None:
        """Reserve `size` bytes of the process's memory for decoding. Raises Problem (429) if fewer bytes are free."""
        with self._lock:
            if self.used + size > self.bytes_max:
                raise _busy("Other requests use the memory for decoding")
            self.used += size

    def give(self, size: int) -> None:
        """Return `size` reserved bytes to the budget."""
        with self._lock:
            self.used -= size


class Allowance:
    """The part of the budget that one request has taken. The threads of the request share it."""

    def __init__(self, budget: DecodingBudget) -> None:
        self._budget, self._lock, self._taken = budget, threading.Lock(), 0

    def take(self, size: int) -> None:
        """Reserve `size` more bytes for this request. Raises Problem: 413 if the request alone would exceed the whole
        budget, 429 if fewer bytes are free.
        """
        with self._lock:
            if self._taken + size > self._budget.bytes_max:
                most = self._budget.bytes_max >> 20
                detail = f"This would take more than the {most} MiB of memory that decoding may take: split it."
                raise Problem(413, "too_large", detail)
            self._budget.take(size)
            self._taken += size

    def give(self, size: int) -> None:
        """Return `size` bytes of this request to the budget, because their decoded data was dropped."""
        with self._lock:
            self._taken -= size
        self._budget.give(size)

    def close(self) -> None:
        """Return all bytes of this request to the budget."""
        self.give(self._taken)


async def room(request: Request) -> AsyncIterator[None]:
    """Give the request an allowance: data that is decoded counts against the process's budget until the request is
    answered. A body that is not multipart counts _BODY_FACTOR times its announced length.
    """
    allowance = Allowance(request.app.state.decoding)
    charging(allowance)
    announced = request.headers.get("Content-Length", "")
    try:
        # The parts of a form are in files. A body without an announced length counts as long as the limit.
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
"""The type of a route's parameter that waits for a slot. Put the parameter after those that read the body. Raises
Problem (429).
"""


def _busy(what: str) -> Problem:
    detail = f"{what}: try again in {_RETRY_S} s. Nothing was done."
    return Problem(429, "rate_limited", detail, headers={"Retry-After": str(_RETRY_S)})
