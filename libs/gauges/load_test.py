"""A gauge that has a load test run, by webhook: 1 for a pass, 0 for a fail, nothing while it runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import httpx
import orjson
from pydantic import Field, HttpUrl, SecretStr, model_validator

from libs.actuators.signature import SIGNATURE, Call, sign
from libs.carriers.calls import CallLimits, Calls, work_off
from libs.gauges.gauge import Gauge, Measured, Question
from libs.reconcile.clock import Clock
from libs.reconcile.environment import Settings
from libs.reconcile.outgoing import require_encrypted


class LoadTestSettings(Settings):
    """The receiver that runs load tests, and the secret that signs calls to it."""

    load_test_url: HttpUrl = Field(validation_alias="PLIMSOLL_LOAD_TEST_URL")
    load_test_secret: SecretStr = Field(min_length=16, validation_alias="PLIMSOLL_LOAD_TEST_SECRET")
    load_test_ca: Path | None = Field(default=None, validation_alias="PLIMSOLL_LOAD_TEST_CA")
    load_test_http_allowed: bool = Field(default=False, validation_alias="PLIMSOLL_LOAD_TEST_HTTP_ALLOWED")

    @model_validator(mode="after")
    def _encrypted(self) -> Self:
        allowed, setting = self.load_test_http_allowed, "PLIMSOLL_LOAD_TEST_HTTP_ALLOWED"
        require_encrypted(str(self.load_test_url), plain_allowed=allowed, setting=setting)
        return self


class LoadTest:
    """Asks about each test. The receiver recognises a test by its Idempotency-Key, and starts it once."""

    def __init__(self, settings: LoadTestSettings) -> None:
        self._url = httpx.URL(str(settings.load_test_url))
        self._secret = settings.load_test_secret.get_secret_value().encode()
        self._limits = CallLimits(ca=settings.load_test_ca)

    def measure(self, questions: Sequence[Question]) -> Sequence[Measured]:
        """See Gauge."""
        return work_off(questions, self._ask, self._limits, left=Measured(None, "there was no time to ask"))

    async def _ask(self, calls: Calls, question: Question) -> Measured:
        a = question.action
        document = {
            "key": question.key,
            "service": a.service,
            "region": a.region,
            "hardware_type": a.hardware_type,
            "before": a.before,
            "after": a.after,
            "query": question.query,
        }
        body = orjson.dumps(document)
        call = Call(method="POST", target=self._url.raw_path.decode("ascii"), key=question.key, body=body)
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": question.key,
            SIGNATURE: sign(call, (self._secret,), at_s=int(time.time())),
        }
        reply = await calls.send("POST", str(self._url), content=body, headers=headers)
        if reply.status == 202:
            return Measured(None, "the load test runs")
        passed = reply.document.get("passed")
        if reply.status == 200 and isinstance(passed, bool):
            return Measured(float(passed), reply.document.get("message"))
        return Measured(None, reply.message if reply.status != 200 else "the answer has no `passed`")


def create(clock: Clock) -> Gauge:
    """Return a LoadTest with settings from the environment. Calls run in real time, not on the Clock."""
    return LoadTest(LoadTestSettings.from_environment())
