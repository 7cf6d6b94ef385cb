"""Send HTTP calls to other systems, several at a time, each with an end. Errors become replies without a status."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, TypeVar

import httpx
import orjson

from libs.reconcile.call_retries import Retries
from libs.reconcile.outgoing import trusted_by

T = TypeVar("T")
R = TypeVar("R")
_BODY_BYTES_MAX, _MESSAGE_LENGTH_MAX, _AGAIN_S_MAX = 1 << 20, 500, 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """Limits on calls.

    timeout_s  seconds for one call, from its first byte to its last
    parallel   concurrent calls
    tick_s     seconds in which calls begin; the rest waits for the next tick
    ca         PEM file of the authorities that may certify the systems; None: the usual ones
    """

    timeout_s: float = 10.0
    parallel: int = 16
    tick_s: float = 5.0
    ca: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer to a call.

    status    None: there was no answer, and `message` says why
    document  the answer, if it is a JSON object
    again_s   seconds after which the system wants to be asked again; None: it did not say
    """

    status: int | None
    message: str
    document: Mapping[str, Any] = field(default_factory=dict)
    again_s: float | None = None


class Calls:
    """Makes the calls of one item, one after another."""

    def __init__(self, client: httpx.AsyncClient, limits: CallLimits) -> None:
        self._client, self._limits = client, limits

    async def send(
        self, method: str, url: str, *, content: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Return the reply to one call. Redirects are not followed."""
        try:
            async with (
                asyncio.timeout(self._limits.timeout_s),
                self._client.stream(method, url, content=content, headers=dict(headers or {})) as response,
            ):
                return await _reply(response)
        except (TimeoutError, httpx.TimeoutException):
            return Reply(status=None, message=f"no answer in {self._limits.timeout_s:g} s")
        except httpx.HTTPError as error:
            return Reply(status=None, message=f"{type(error).__name__}: {error}"[:_MESSAGE_LENGTH_MAX])

    async def read(self, url: str, *, headers: Mapping[str, str], retries: Retries) -> Reply:
        """Return the reply to a GET. Repeat it while there is no answer, or the answer is 429 or 5xx.

        The limit on one call is that of CallLimits.
        """
        reply = await self.send("GET", url, headers=headers)
        for failures in range(1, retries.attempts_max):
            if reply.status is not None and reply.status != 429 and reply.status < 500:
                break
            await asyncio.sleep(max(retries.backoff.wait_s(failures), reply.again_s or 0.0))
            reply = await self.send("GET", url, headers=headers)
        return reply


def work_off(items: Sequence[T], work: Callable[[Calls, T], Awaitable[R]], limits: CallLimits, *, left: R) -> list[R]:
    """Return the result of `work` for each item, or `left` where no time was left to begin."""
    return asyncio.run(_work_off(items, work, limits, left)) if items else []


async def _work_off(
    items: Sequence[T], work: Callable[[Calls, T], Awaitable[R]], limits: CallLimits, left: R
) -> list[R]:
    until, found = time.monotonic() + limits.tick_s, [left] * len(items)
    waiting = iter(enumerate(items))
    # Follow no redirect and use no proxy from the environment: only our settings name who gets a token or a signature.
    async with httpx.AsyncClient(timeout=limits.timeout_s, trust_env=False, verify=trusted_by(limits.ca)) as client:
        calls = Calls(client, limits)

        async def take() -> None:
            for index, item in waiting:
                found[index] = await work(calls, item)
                if time.monotonic() >= until:
                    return

        await asyncio.gather(*(take() for _ in range(min(limits.parallel, len(items)))))
    return found


async def _reply(response: httpx.Response) -> Reply:
    read = bytearray()
    async for chunk in response.aiter_bytes(8192):
        read += chunk
        if len(read) > _BODY_BYTES_MAX:
            break
    try:
        found = orjson.loads(bytes(read))
    except orjson.JSONDecodeError:
        found = None
    document: Mapping[str, Any] = found if isinstance(found, dict) else {}
    text = next((v for k in ("message", "detail") if isinstance(v := document.get(k), str)), "")
    text = text or ("" if document else bytes(read[:_MESSAGE_LENGTH_MAX]).decode("utf-8", "replace"))
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_MESSAGE_LENGTH_MAX]
    said = f"HTTP {response.status_code}" + (f": {line}" if line else "")
    again_s = _again_s(response.headers.get("Retry-After"))
    return Reply(status=response.status_code, message=said, document=document, again_s=again_s)


def _again_s(value: str | None) -> float | None:
    """Return the seconds of a Retry-After, at most an hour; None if it is missing or not readable."""
    try:
        if value is None:
            return None
        if value.isdecimal():
            return min(float(value), _AGAIN_S_MAX)
        moment = parsedate_to_datetime(value)
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return min(max((moment - datetime.now(UTC)).total_seconds(), 0.0), _AGAIN_S_MAX)
    except ValueError:
        return None
