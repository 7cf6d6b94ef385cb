"""An actuator that POSTs every step, signed, to a receiver. docs/webhook.md has the receiver's contract.

Calls are asynchronous inside `perform` only. Only asynchronous code can end a call whose answer never completes.
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

from libs.actuators.actuator import ASK_AGAIN_S_MAX, Actuator, StepOutcome, StepRequest, StepState
from libs.actuators.signature import SIGNATURE, Call, sign
from libs.reconcile.clock import Clock
from libs.reconcile.environment import Settings
from libs.reconcile.outgoing import require_encrypted, trusted_by

NOT_THE_SERVERS_FAULT = frozenset({401, 403, 404, 405, 407, 408, 421, 425, 426, 429, 431, 451})
"""4xx codes that are about the call and not the step: a wrong secret or address must not mark a server as broken."""
_BODY_BYTES_MAX, _MESSAGE_LENGTH_MAX = 65_536, 500
_NOT_ASKED = StepOutcome(state=StepState.NOT_ASKED)


class WebhookSettings(Settings):
    """The address of the receiver, and the limits on calls.

    webhook_ca            PEM file of the authorities that may certify the receiver; None: the usual ones
    webhook_http_allowed  allow http to another host, for a connection that is encrypted otherwise
    webhook_secret        signs every call; so does webhook_secret_next, during a change of secrets
    webhook_timeout_s     seconds for one call, from its first byte to its last
    webhook_parallel      concurrent calls
    webhook_tick_s        seconds in which a tick begins calls; the rest waits for the next tick
    webhook_poll_s        seconds until the next request for an accepted step, unless the receiver names another time
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
        """Return the secrets that sign: the present one, and the next one if it is set."""
        given = (self.webhook_secret, self.webhook_secret_next)
        return tuple(secret.get_secret_value().encode() for secret in given if secret is not None)


class WebhookActuator:
    """Asks the receiver about each step. It has no state: the receiver recognises a step by its Idempotency-Key."""

    def __init__(self, settings: WebhookSettings) -> None:
        self._settings, self._url, self._secrets = settings, httpx.URL(str(settings.webhook_url)), settings.secrets()
        self._trusted = trusted_by(settings.webhook_ca)

    def perform(self, steps: Sequence[StepRequest]) -> Sequence[StepOutcome]:
        """See Actuator. Takes at most webhook_tick_s plus one webhook_timeout_s, for any number of steps.

        If webhook_parallel calls have failed and none was answered, no further call begins.
        """
        return asyncio.run(self._perform(steps)) if steps else ()

    async def _perform(self, steps: Sequence[StepRequest]) -> list[StepOutcome]:
        s, until = self._settings, time.monotonic() + self._settings.webhook_tick_s
        outcomes = [_NOT_ASKED] * len(steps)
        waiting = iter(enumerate(steps))
        failed, answered = 0, False
        limits = httpx.Limits(max_connections=s.webhook_parallel)
        # Follow no redirect and use no proxy from the environment: only our settings name the receiver of a signature.
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
            poll_s = self._settings.webhook_poll_s
            return StepOutcome(
                state=StepState.RUNNING, message=text or None, ask_again_s=again_s, poll_s=poll_s, call="accepted"
            )
        if response.is_success:
            return StepOutcome(state=StepState.DONE, message=text or None, call="done")
        if response.is_redirect:
            return _unknown("redirect", f"HTTP {status}: redirects are not followed; set PLIMSOLL_WEBHOOK_URL", again_s)
        if response.is_client_error and status not in NOT_THE_SERVERS_FAULT:
            return StepOutcome(state=StepState.FAILED, message=said, call="failed")
        return _unknown("refused" if response.is_client_error else "server_error", said, again_s)


def create(clock: Clock) -> Actuator:
    """Return a WebhookActuator with settings from the environment, for the registry. Calls run in real time, not on the
    Clock.
    """
    return WebhookActuator(WebhookSettings.from_environment())


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
    """Return one bounded line of the body for people: the `message` or `detail` of a JSON object, or the text."""
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
    """Return the seconds of a Retry-After, at most an hour; None if it is missing or not readable."""
    if value is None:
        return None
    try:
        wait_s = float(value) if value.isdecimal() else _seconds_until(parsedate_to_datetime(value))
    except ValueError:
        return None
    return min(max(wait_s, 0.0), ASK_AGAIN_S_MAX)


def _seconds_until(moment: datetime) -> float:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - datetime.now(UTC)).total_seconds()
