"""A carrier of resizes of stateful services: replicas are built on new capacity, and removed before it goes.

A shift waits for the upsizes of its services. So traffic comes only after the receiver has acknowledged the replicas.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
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
from libs.reconcile.environment import Settings
from libs.reconcile.outgoing import require_encrypted


class ReplicasSettings(Settings):
    """The stateful services, the receiver that knows their replicas, and the secret that signs calls to it."""

    replicas_url: HttpUrl = Field(validation_alias="PLIMSOLL_REPLICAS_URL")
    replicas_services: tuple[str, ...] = Field(min_length=1, validation_alias="PLIMSOLL_REPLICAS_SERVICES")
    replicas_secret: SecretStr = Field(min_length=16, validation_alias="PLIMSOLL_REPLICAS_SECRET")
    replicas_ca: Path | None = Field(default=None, validation_alias="PLIMSOLL_REPLICAS_CA")
    replicas_http_allowed: bool = Field(default=False, validation_alias="PLIMSOLL_REPLICAS_HTTP_ALLOWED")
    replicas_timeout_s: float = Field(default=10.0, gt=0, le=300, validation_alias="PLIMSOLL_REPLICAS_TIMEOUT_S")

    @model_validator(mode="after")
    def _encrypted(self) -> Self:
        allowed, setting = self.replicas_http_allowed, "PLIMSOLL_REPLICAS_HTTP_ALLOWED"
        require_encrypted(str(self.replicas_url), plain_allowed=allowed, setting=setting)
        return self


class ReplicasCarrier:
    """Asks the receiver about replicas, and another carrier for the capacity. It has no state: both recognise a request
    by its key.
    """

    def __init__(self, settings: ReplicasSettings, capacity: Carrier) -> None:
        self._capacity, self._services = capacity, frozenset(settings.replicas_services)
        self._url = httpx.URL(str(settings.replicas_url))
        self._secret = settings.replicas_secret.get_secret_value().encode()
        self._limits = CallLimits(timeout_s=settings.replicas_timeout_s, ca=settings.replicas_ca)

    def perform(self, requests: Sequence[ActionRequest]) -> Sequence[Answer]:
        """See Carrier. Capacity comes before replicas, and replicas go before capacity."""
        stateful = [i for i, one in enumerate(requests) if one.action.service in self._services]
        shrinks = {i for i in stateful if requests[i].size < requests[i].action.before}
        answers = self._about_replicas(requests, sorted(shrinks))
        free = [i for i in range(len(requests)) if i not in shrinks or answers[i].outcome is Outcome.DONE]
        found = self._capacity.perform([requests[i] for i in free]) if free else ()
        answers |= dict(zip(free, found, strict=True))
        grown = [i for i in stateful if i not in shrinks and answers[i].outcome is Outcome.DONE]
        answers |= self._about_replicas(requests, grown)
        return [answers[i] for i in range(len(requests))]

    def _about_replicas(self, requests: Sequence[ActionRequest], positions: Sequence[int]) -> dict[int, Answer]:
        asked = [requests[i] for i in positions]
        found = work_off(asked, self._ask, self._limits, left=Answer(outcome=Outcome.NOT_ASKED))
        return dict(zip(positions, found, strict=True))

    async def _ask(self, calls: Calls, request: ActionRequest) -> Answer:
        a, key = request.action, f"{request.key}/replicas"
        document: Mapping[str, object] = {
            "key": key,
            "service": a.service,
            "region": a.region,
            "hardware_type": a.hardware_type,
            "before": a.before,
            "after": request.size,
        }
        body = orjson.dumps(document)
        call = Call(method="POST", target=self._url.raw_path.decode("ascii"), key=key, body=body)
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": key,
            "User-Agent": "plimsoll-orchestrator",
            SIGNATURE: sign(call, (self._secret,), at_s=int(time.time())),
        }
        return answer_of(await calls.send("POST", str(self._url), content=body, headers=headers))


def create(capacity: Carrier) -> Carrier:
    """Return a ReplicasCarrier with settings from the environment, before the carrier of the capacity."""
    return ReplicasCarrier(ReplicasSettings.from_environment(), capacity)
