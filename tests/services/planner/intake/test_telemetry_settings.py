"""Check the environment's settings of Prometheus."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from services.planner.telemetry_settings import TelemetrySettings

FAR = {"PLIMSOLL_PROMETHEUS_URL": "http://prometheus.example:9090"}
TOKEN = {"PLIMSOLL_PROMETHEUS_TOKEN": "secret"}


def test_a_token_is_not_shown_over_http_to_another_host() -> None:
    with pytest.raises(ValidationError, match="PLIMSOLL_PROMETHEUS_HTTP_ALLOWED=true"):
        TelemetrySettings.model_validate(FAR | TOKEN)
    for allowed in (
        FAR,
        FAR | TOKEN | {"PLIMSOLL_PROMETHEUS_HTTP_ALLOWED": True},
        TOKEN | {"PLIMSOLL_PROMETHEUS_URL": "http://127.0.0.1:9090"},
        TOKEN | {"PLIMSOLL_PROMETHEUS_URL": "https://prometheus.example"},
    ):
        TelemetrySettings.model_validate(allowed)


def test_the_file_of_authorities_must_be_one(tmp_path: Path) -> None:
    wrong = tmp_path / "ca.pem"
    wrong.write_text("nothing")
    with pytest.raises(ValidationError, match="PEM certificates"):
        TelemetrySettings.model_validate({"PLIMSOLL_PROMETHEUS_CA": wrong})
