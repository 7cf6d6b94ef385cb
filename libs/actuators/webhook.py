"""An actuator that POSTs every step, signed, to whoever can do it. docs/webhook.md has the receiver's contract.

Calls are asynchronous inside `perform` and nowhere else: it is the one way to end a call that drips on after its time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Self

import httpx
import orjson
from pydantic import Field, HttpUrl, SecretStr, model_validator

from libs.actuators.actuator import Actuator, StepOutcome, StepRequest, StepState
from libs.actuators.signature import SIGNATURE, Call, sign
from libs.reconcile.clock import Clock
from libs.reconcile.environment import Settings
from libs.reconcile.outgoing import require_encrypted, trusted_by

NOT_THE_SERVERS_FAULT = frozenset({401, 403, 404, 405, 407, 408, 421, 425, 426, 429, 431, 451})
"""4xx that speak of the call and not of the step: no server may be called broken for a wrong secret or address."""
_BODY_BYTES_MAX, _MESSAGE_LENGTH_MAX = 65_536, 500
_RETRY_AFTER_S_MAX = 3600.0
_NOT_ASKED = StepOutcome(state=StepState.NOT_ASKED)


class WebhookSettings(Settings):
    """Where the receiver is, and how much is asked of it.

    webhook_ca            PEM file of the authorities that may vouch for the receiver; none: the usual ones
    webhook_http_allowed  http to another host, where something else encrypts it
    webhook_secret        signs every call; webhook_secret_next too, while secrets are being changed
    webhook_timeout_s     of one call, from its first byte to its last
    webhook_parallel      calls at a time
    webhook_tick_s        for so long a tick begins calls; the rest waits for the next one
    webhook_poll_s        until a step that was accepted is asked for again, unless the receiver says
    """

    webhook_url: HttpUrl = Field(validation_alias="PLIMSOLL_WEBHOOK_URL")
    webhook_secret: SecretStr = Field(min_length=16, validation_alias="PLIMSOLL_WEBHOOK_SECRET")
    webhook_secret_next: SecretStr | None = Field(
        default=None, min_length=16, validation_alias="PLIMSOLL_WEBHOOK_SECRET_NEXT"
    )
    webhook_ca: Path | None = Field(default=None, validation_alias="PLIMSOLL_WEBHOOK_CA")
    webhook_http_allowed: bool = Field(default=False, validation_alias="PLIMSOLL_WEBHOOK_HTTP_ALLOWED")
    webhook_timeout_s: float = Field(default=10.0, gt=0, le=300, validation_alias="PLIMSOLL_WEBHOOK_TIMEOUT_S")
    webhook_parallel: int = Field(default=32, ge=1, le=1000, validation_alias="PLIMSOLL_WEBHOOK_PARALLEL")
    webhook_tick_s: float = Field(default=5.0, gt=0, le=300, validation_alias="PLIMSOLL_WEBHOOK_TICK_S")
    webhook_poll_s: float = Field(default=15.0, ge=0, le=3600, validation_alias="PLIMSOLL_WEBHOOK_POLL_S")

    @model_validator(mode="after")
    def _encrypted(self) -> Self:
        plain = self.webhook_http_allowed
        require_encrypted(str(self.webhook_url), plain_allowed=plain, setting="PLIMSOLL_WEBHOOK_HTTP_ALLOWED")
        if self.webhook_ca is not None:
            trusted_by(self.webhook_ca)
        return self

    def secrets(self) -> tuple[bytes, ...]:
        """Those that sign: the present one, and the next where there is one."""
        given = (self.webhook_secret, self.webhook_secret_next)
        return tuple(secret.get_secret_value().encode() for secret in given if secret is not None)


class WebhookActuator:
    """Asks the receiver about each step. It remembers nothing: the receiver knows a step by its Idempotency-Key."""

    def __init__(self, settings: WebhookSettings) -> None:
        self._settings, self._url, self._secrets = settings, httpx.URL(str(settings.webhook_url)), settings.secrets()
        self._trusted = trusted_by(settings.webhook_ca)

    def perform(self, steps: Sequence[StepRequest]) -> Sequence[StepOutcome]:
        """See Actuator. Takes webhook_tick_s and one webhook_timeout_s at most, however many steps there are.

        While as many calls as may run at a time have failed and none was answered, no further one begins.
        """
        return asyncio.run(self._perform(steps)) if steps else ()

    async def _perform(self, steps: Sequence[StepRequest]) -> list[StepOutcome]:
        s, until = self._settings, time.monotonic() + self._settings.webhook_tick_s
        outcomes = [_NOT_ASKED] * len(steps)
        waiting = iter(enumerate(steps))
        failed, answered = 0, False
        limits = httpx.Limits(max_connections=s.webhook_parallel)
        # A redirect is not followed: whom we sign for is in our own settings. Nor is a proxy taken from them.
        async with httpx.AsyncClient(
            timeout=s.webhook_timeout_s, limits=limits, trust_env=False, verify=self._trusted
        ) as client:

            async def work() -> None:
                nonlocal failed, answered
                for index, step in waiting:
                    outcomes[index] = await self._call(client, step)
                    unknown = outcomes[index].state is StepState.UNKNOWN
                    failed, answered = failed + unknown, answered or not unknown
                    if time.monotonic() >= until or (not answered and failed >= s.webhook_parallel):
                        return

            await asyncio.gather(*(work() for _ in range(min(s.webhook_parallel, len(steps)))))
        return outcomes

    async def _call(self, client: httpx.AsyncClient, step: StepRequest) -> StepOutcome:
        body, key = orjson.dumps(_document(step)), f"{step.move_id}/{step.step}/{step.attempt}"
        call = Call(method="POST", target=self._url.raw_path.decode("ascii"), key=key, body=body)
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": key,
            "User-Agent": "plimsoll-mover",
            SIGNATURE: sign(call, self._secrets, at_s=int(time.time())),
        }
        try:
            async with (
                asyncio.timeout(self._settings.webhook_timeout_s),
                client.stream("POST", self._url, content=body, headers=headers) as response,
            ):
                return self._outcome(response, await _text(response))
        except (TimeoutError, httpx.TimeoutException):
            return _unknown("timeout", f"no answer in {self._settings.webhook_timeout_s:g} s")
        except (httpx.ProtocolError, httpx.DecodingError) as error:
            return _unknown("unreadable", f"an answer that is not HTTP: {error}")
        except httpx.HTTPError as error:
            return _unknown("unreachable", f"{type(error).__name__}: {error}")

    def _outcome(self, response: httpx.Response, text: str) -> StepOutcome:
        status, said = response.status_code, f"HTTP {response.status_code}" + (f": {text}" if text else "")
        again_s = _retry_after_s(response.headers.get("Retry-After"))
        if status == 202:
            wait_s = self._settings.webhook_poll_s if again_s is None else again_s
            return StepOutcome(state=StepState.RUNNING, message=text or None, ask_again_s=wait_s, call="accepted")
        if response.is_success:
            return StepOutcome(state=StepState.DONE, message=text or None, call="done")
        if response.is_redirect:
            return _unknown("redirect", f"HTTP {status}: redirects are not followed; set PLIMSOLL_WEBHOOK_URL", again_s)
        if response.is_client_error and status not in NOT_THE_SERVERS_FAULT:
            return StepOutcome(state=StepState.FAILED, message=said, call="failed")
        return _unknown("refused" if response.is_client_error else "server_error", said, again_s)


def create(clock: Clock) -> Actuator:
    """For the registry. Calls happen in real time, whatever the clock says."""
    return WebhookActuator(WebhookSettings())  # type: ignore[call-arg]  # from the environment


def _document(step: StepRequest) -> dict[str, object]:
    return {
        "move_id": step.move_id,
        "step": step.step.value,
        "attempt": step.attempt,
        "region": step.region,
        "server": step.server,
        "from_reservation": step.from_reservation,
        "to_reservation": step.to_reservation,
        "from_host_profile": step.from_host_profile,
        "to_host_profile": step.to_host_profile,
    }


def _unknown(call: str, message: str, again_s: float | None = None) -> StepOutcome:
    return StepOutcome(state=StepState.UNKNOWN, message=message[:_MESSAGE_LENGTH_MAX], ask_again_s=again_s, call=call)


async def _text(response: httpx.Response) -> str:
    """What the body says to people, in one bounded line: its `message` or `detail` where it is a JSON object."""
    read = bytearray()
    async for chunk in response.aiter_bytes(8192):
        read += chunk
        if len(read) > _BODY_BYTES_MAX:
            break
    text = bytes(read[:_BODY_BYTES_MAX]).decode("utf-8", "replace")
    try:
        found = orjson.loads(bytes(read))
        text = next((v for k in ("message", "detail") if isinstance(v := found.get(k), str)), "")
    except (orjson.JSONDecodeError, AttributeError):  # not JSON, or no object
        pass
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line[:_MESSAGE_LENGTH_MAX]


def _retry_after_s(value: str | None) -> float | None:
    """Seconds that a Retry-After asks for, an hour at most; None where there is none, or none that can be read."""
    if value is None:
        return None
    try:
        wait_s = float(value) if value.isdecimal() else _seconds_until(parsedate_to_datetime(value))
    except ValueError:
        return None
    return min(max(wait_s, 0.0), _RETRY_AFTER_S_MAX)


def _seconds_until(moment: datetime) -> float:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - datetime.now(UTC)).total_seconds()
