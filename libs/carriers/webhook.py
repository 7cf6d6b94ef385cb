"""A carrier that POSTs every shift of traffic, signed, to a receiver: docs/traffic-webhook.md is its contract."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import httpx
import orjson
from pydantic import Field, HttpUrl, SecretStr, model_validator

from libs.actuators.signature import SIGNATURE, Call, sign
from libs.carriers.answers import answer_of
from libs.carriers.calls import CallLimits, Calls, work_off
from libs.carriers.carrier import Carrier
from libs.domain.action_outcome import ActionRequest, Answer, Outcome
from libs.reconcile.clock import Clock
from libs.reconcile.environment import Settings
from libs.reconcile.outgoing import require_encrypted


class TrafficWebhookSettings(Settings):
    """The address of the receiver, the secret that signs calls to it, and the limit on one call."""

    traffic_url: HttpUrl = Field(validation_alias="PLIMSOLL_TRAFFIC_URL")
    traffic_secret: SecretStr = Field(min_length=16, validation_alias="PLIMSOLL_TRAFFIC_SECRET")
    traffic_ca: Path | None = Field(default=None, validation_alias="PLIMSOLL_TRAFFIC_CA")
    traffic_http_allowed: bool = Field(default=False, validation_alias="PLIMSOLL_TRAFFIC_HTTP_ALLOWED")
    traffic_timeout_s: float = Field(default=10.0, gt=0, le=300, validation_alias="PLIMSOLL_TRAFFIC_TIMEOUT_S")

    @model_validator(mode="after")
    def _encrypted(self) -> Self:
        require_encrypted(
            str(self.traffic_url), plain_allowed=self.traffic_http_allowed, setting="PLIMSOLL_TRAFFIC_HTTP_ALLOWED"
        )
        return self


class TrafficWebhook:
    """Asks the receiver about each shift. It has no state: the receiver recognises a request by its Idempotency-Key."""

    def __init__(self, settings: TrafficWebhookSettings) -> None:
        self._url = httpx.URL(str(settings.traffic_url))
        self._secret = settings.traffic_secret.get_secret_value().encode()
        self._limits = CallLimits(timeout_s=settings.traffic_timeout_s, ca=settings.traffic_ca)

    def perform(self, requests: Sequence[ActionRequest]) -> Sequence[Answer]:
        """See Carrier."""
        return work_off(requests, self._ask, self._limits, left=Answer(outcome=Outcome.NOT_ASKED))

    async def _ask(self, calls: Calls, request: ActionRequest) -> Answer:
        a = request.action
        body = orjson.dumps(
            {
                "key": request.key,
                "product": a.product,
                "from_region": a.region,
                "to_region": a.to_region,
                "share": request.fraction * a.after,
                "share_planned": a.after,
                "fraction": request.fraction,
            }
        )
        call = Call(method="POST", target=self._url.raw_path.decode("ascii"), key=request.key, body=body)
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": request.key,
            "User-Agent": "plimsoll-orchestrator",
            SIGNATURE: sign(call, (self._secret,), at_s=int(time.time())),
        }
        return answer_of(await calls.send("POST", str(self._url), content=body, headers=headers))


def create(clock: Clock) -> Carrier:
    """Return a TrafficWebhook with settings from the environment. Calls run in real time, not on the Clock."""
    return TrafficWebhook(TrafficWebhookSettings.from_environment())
