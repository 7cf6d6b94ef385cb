"""Read the settings for spans, usage and traffic from the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, SecretStr, model_validator

from libs.reconcile.environment import Settings
from libs.reconcile.outgoing import require_encrypted, trusted_by


class TelemetrySettings(Settings):
    """Limits on received and stored telemetry. Durations of traces are real time; retention goes by the Clock.

    trace_window_s        seconds without a new span after which a trace is complete
    spans_waiting_max     spans that wait to be summed; with more, intake answers 429. 58 bytes each, 300 in a sweep
    trace_bodies_bytes    bodies of exports that one process reads at a time, as sent
    traced_services_max   names of services that spans may bring; one token may bring at most as many as are free
    series_max            series of usage, and of traffic, that may be measured; likewise per token
    telemetry_kept_days   measurements and sums older than this are deleted
    prometheus_url        the server for `metric_sources`; none: no pull
    prometheus_token      a bearer token for it; sent over http to another host only if that is allowed
    prometheus_ca         PEM file of trusted certificate authorities; none: the usual ones
    prometheus_backfill_days   how far back a new source is pulled
    prometheus_delay_s    younger samples may not be complete in Prometheus yet
    """

    trace_window_s: float = Field(default=30.0, gt=0, le=3600, validation_alias="PLIMSOLL_TRACE_WINDOW_S")
    spans_waiting_max: int = Field(default=4_000_000, ge=1, validation_alias="PLIMSOLL_SPANS_WAITING_MAX")
    trace_bodies_bytes: int = Field(default=64 << 20, ge=1, validation_alias="PLIMSOLL_TRACE_BODIES_BYTES")
    traced_services_max: int = Field(default=5_000, ge=1, le=50_000, validation_alias="PLIMSOLL_TRACED_SERVICES_MAX")
    series_max: int = Field(default=200_000, ge=1, validation_alias="PLIMSOLL_SERIES_MAX")
    telemetry_kept_days: int = Field(default=35, ge=1, le=3660, validation_alias="PLIMSOLL_TELEMETRY_KEPT_DAYS")
    prometheus_url: str | None = Field(
        default=None, pattern=r"^https?://[^\s@]+$", validation_alias="PLIMSOLL_PROMETHEUS_URL"
    )
    prometheus_token: SecretStr | None = Field(default=None, validation_alias="PLIMSOLL_PROMETHEUS_TOKEN")
    prometheus_ca: Path | None = Field(default=None, validation_alias="PLIMSOLL_PROMETHEUS_CA")
    prometheus_http_allowed: bool = Field(default=False, validation_alias="PLIMSOLL_PROMETHEUS_HTTP_ALLOWED")
    prometheus_backfill_days: float = Field(
        default=14.0, gt=0, le=3660, validation_alias="PLIMSOLL_PROMETHEUS_BACKFILL_DAYS"
    )
    prometheus_delay_s: float = Field(default=60.0, ge=0, le=86_400, validation_alias="PLIMSOLL_PROMETHEUS_DELAY_S")

    @model_validator(mode="after")
    def _encrypted(self) -> Self:
        if self.prometheus_url is not None and self.prometheus_token is not None:
            plain = self.prometheus_http_allowed
            require_encrypted(self.prometheus_url, plain_allowed=plain, setting="PLIMSOLL_PROMETHEUS_HTTP_ALLOWED")
        if self.prometheus_ca is not None:
            trusted_by(self.prometheus_ca)
        return self
