"""POST reminders of approvals, signed, to a receiver that tells people: a chat, a pager or a mailer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol, Self

import httpx
import orjson
from pydantic import Field, HttpUrl, SecretStr, model_validator

from libs.actuators.signature import SIGNATURE, Call, sign
from libs.carriers.answers import ABOUT_THE_CALL
from libs.carriers.calls import CallLimits, Calls, Reply, work_off
from libs.domain.reminder import ReminderCall, ReminderStatus
from libs.reconcile.environment import Settings
from libs.reconcile.outgoing import require_encrypted

Sent = tuple[ReminderStatus, str | None]


class ReminderSender(Protocol):
    """Sends reminders."""

    def send(self, calls: Sequence[ReminderCall], now: datetime) -> Sequence[Sent]:
        """Return the outcome of each: SENT, FAILED, UNKNOWN, or DUE if it certainly did not arrive and may be sent
        again.
        """


class ReminderSettings(Settings):
    """The receiver of reminders, and the secret that signs calls to it. Without an address nothing is sent.

    every_s       seconds between two reminders; what waits for less is not named
    attempts_max  calls in one interval, while they certainly do not arrive
    """

    url: HttpUrl | None = Field(default=None, validation_alias="PLIMSOLL_REMINDER_URL")
    secret: SecretStr | None = Field(default=None, min_length=16, validation_alias="PLIMSOLL_REMINDER_SECRET")
    ca: Path | None = Field(default=None, validation_alias="PLIMSOLL_REMINDER_CA")
    http_allowed: bool = Field(default=False, validation_alias="PLIMSOLL_REMINDER_HTTP_ALLOWED")
    every_s: float = Field(default=86_400.0, ge=60, le=30 * 86_400, validation_alias="PLIMSOLL_REMINDER_EVERY_S")
    attempts_max: int = Field(default=10, ge=1, le=1000, validation_alias="PLIMSOLL_REMINDER_ATTEMPTS_MAX")

    @model_validator(mode="after")
    def _encrypted(self) -> Self:
        if self.url is not None:
            if self.secret is None:
                raise ValueError("PLIMSOLL_REMINDER_URL needs PLIMSOLL_REMINDER_SECRET")
            setting = "PLIMSOLL_REMINDER_HTTP_ALLOWED"
            require_encrypted(str(self.url), plain_allowed=self.http_allowed, setting=setting)
        return self


class ReminderWebhook:
    """Sends each reminder in one call. Its Idempotency-Key is the same for all calls of an interval."""

    def __init__(self, settings: ReminderSettings) -> None:
        assert settings.url is not None
        assert settings.secret is not None
        self._url, self._secret = httpx.URL(str(settings.url)), settings.secret.get_secret_value().encode()
        self._limits = CallLimits(ca=settings.ca)

    def send(self, calls: Sequence[ReminderCall], now: datetime) -> Sequence[Sent]:
        """See ReminderSender."""

        async def ask(client: Calls, one: ReminderCall) -> Sent:
            key, body = one.reminder.key, _body(one, now)
            call = Call(method="POST", target=self._url.raw_path.decode("ascii"), key=key, body=body)
            headers = {
                "Content-Type": "application/json",
                "Idempotency-Key": key,
                "User-Agent": "plimsoll-portal",
                SIGNATURE: sign(call, (self._secret,), at_s=int(time.time())),
            }
            return outcome_of(await client.send("POST", str(self._url), content=body, headers=headers))

        return work_off(calls, ask, self._limits, left=(ReminderStatus.DUE, "there was no time to ask"))


def outcome_of(reply: Reply) -> Sent:
    """Return what became of a reminder. It may have arrived where the answer does not tell."""
    status = reply.status
    if status is None:
        is_certain = reply.message.startswith(("ConnectError", "ConnectTimeout"))
        return (ReminderStatus.DUE if is_certain else ReminderStatus.UNKNOWN), reply.message
    if 200 <= status < 300:
        return ReminderStatus.SENT, None
    if status in ABOUT_THE_CALL or status == 503:
        return ReminderStatus.DUE, reply.message
    return (ReminderStatus.FAILED if 400 <= status < 500 else ReminderStatus.UNKNOWN), reply.message


def _body(one: ReminderCall, now: datetime) -> bytes:
    reminder = one.reminder
    document = {
        "key": reminder.key,
        "to": reminder.recipient or None,
        "waiting": reminder.waiting,
        "oldest_at": reminder.oldest_at,
        "approvals": [
            {
                "approval_id": item.approval_id,
                "kind": item.kind,
                "region": item.region,
                "subject": item.subject,
                "waiting_s": (now - item.created_at).total_seconds(),
            }
            for item in one.items
        ],
    }
    return orjson.dumps(document)
