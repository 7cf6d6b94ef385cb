"""A gauge that sends instant queries to Prometheus. An answer without exactly one value says nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Self
from urllib.parse import urlencode

from pydantic import Field, HttpUrl, SecretStr, model_validator

from libs.carriers.calls import CallLimits, Calls, work_off
from libs.gauges.gauge import Gauge, Measured, Question
from libs.reconcile.clock import Clock
from libs.reconcile.environment import Settings
from libs.reconcile.outgoing import require_encrypted


class GatePrometheusSettings(Settings):
    """The Prometheus that gates read, a token for it, and the limit on one query."""

    gate_prometheus_url: HttpUrl = Field(validation_alias="PLIMSOLL_GATE_PROMETHEUS_URL")
    gate_prometheus_token: SecretStr | None = Field(default=None, validation_alias="PLIMSOLL_GATE_PROMETHEUS_TOKEN")
    gate_prometheus_ca: Path | None = Field(default=None, validation_alias="PLIMSOLL_GATE_PROMETHEUS_CA")
    gate_prometheus_http_allowed: bool = Field(default=False, validation_alias="PLIMSOLL_GATE_PROMETHEUS_HTTP_ALLOWED")
    gate_prometheus_timeout_s: float = Field(
        default=10.0, gt=0, le=300, validation_alias="PLIMSOLL_GATE_PROMETHEUS_TIMEOUT_S"
    )

    @model_validator(mode="after")
    def _encrypted(self) -> Self:
        allowed, setting = self.gate_prometheus_http_allowed, "PLIMSOLL_GATE_PROMETHEUS_HTTP_ALLOWED"
        require_encrypted(str(self.gate_prometheus_url), plain_allowed=allowed, setting=setting)
        return self


class PrometheusGauge:
    """Asks for the present value of each expression."""

    def __init__(self, settings: GatePrometheusSettings) -> None:
        token = settings.gate_prometheus_token
        self._url = str(settings.gate_prometheus_url).rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token.get_secret_value()}"}
        self._limits = CallLimits(timeout_s=settings.gate_prometheus_timeout_s, ca=settings.gate_prometheus_ca)

    def measure(self, questions: Sequence[Question]) -> Sequence[Measured]:
        """See Gauge."""
        return work_off(questions, self._ask, self._limits, left=Measured(None, "there was no time to ask"))

    async def _ask(self, calls: Calls, question: Question) -> Measured:
        body = urlencode({"query": question.query}).encode()
        headers = self._headers | {"Content-Type": "application/x-www-form-urlencoded"}
        reply = await calls.send("POST", f"{self._url}/api/v1/query", content=body, headers=headers)
        if reply.status != 200:
            error = reply.document.get("error")
            return Measured(None, f"{reply.message} {error}" if isinstance(error, str) else reply.message)
        return value_of(reply.document)


def value_of(document: object) -> Measured:
    """Return the value of an answer of Prometheus: a scalar, or a vector of one series."""
    try:
        data = document["data"]  # type: ignore[index]
        kind, result = data["resultType"], data["result"]
        if kind == "vector" and len(result) != 1:
            return Measured(
                None, f"the expression gives {len(result)} series, and a gate needs one: add sum() or max()"
            )
        value = float(result[1] if kind == "scalar" else result[0]["value"][1])
    except (LookupError, TypeError, ValueError):
        return Measured(None, "the answer is not one of Prometheus")
    return Measured(None, "the value is NaN") if math.isnan(value) else Measured(value)


def create(clock: Clock) -> Gauge:
    """Return a PrometheusGauge with settings from the environment. Queries run in real time, not on the Clock."""
    return PrometheusGauge(GatePrometheusSettings.from_environment())
