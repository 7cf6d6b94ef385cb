import pytest

from libs.domain.execution_plan import Action, Phase
from libs.gauges.gauge import Question
from libs.gauges.load_test import LoadTest, LoadTestSettings
from libs.gauges.prometheus import GatePrometheusSettings, PrometheusGauge
from tests.builders.http_system import HttpSystem

ACTION = Action(action="downsize/web/east/hw", phase=Phase.DOWNSIZE, service="web", region="east", hardware_type="hw")
QUESTION = Question(key="1/downsize/web/east/hw/0/errors", action=ACTION, query='sum(rate(x{a="b"}[5m]))')


def vector(*values):
    result = [{"metric": {}, "value": [0, value]} for value in values]
    return {"data": {"resultType": "vector", "result": result}}


@pytest.mark.parametrize(
    ("status", "document", "value", "note"),
    [
        (200, vector("0.25"), 0.25, ""),
        (200, {"data": {"resultType": "scalar", "result": [0, "3"]}}, 3.0, ""),
        (200, vector("NaN"), None, "NaN"),
        (200, vector(), None, "0 series"),
        (200, vector("1", "2"), None, "2 series"),
        (200, {"data": {"resultType": "vector", "result": [{}]}}, None, "not one of Prometheus"),
        (200, ["x"], None, "not one of Prometheus"),
        (400, {"error": "parse error"}, None, "parse error"),
        (500, {}, None, "HTTP 500"),
    ],
)
def test_prometheus_is_asked_for_one_value(status, document, value, note):
    with HttpSystem(lambda asked: (status, document)) as system:
        settings = GatePrometheusSettings.model_validate({"PLIMSOLL_GATE_PROMETHEUS_URL": system.url})
        (found,) = PrometheusGauge(settings).measure([QUESTION])
    assert found.value == value
    assert note in (found.note or "")
    assert b"query=sum%28rate" in system.asked[0].body


def test_a_silent_prometheus_says_nothing():
    settings = GatePrometheusSettings.model_validate({"PLIMSOLL_GATE_PROMETHEUS_URL": "http://127.0.0.1:9"})
    assert PrometheusGauge(settings).measure([QUESTION])[0].value is None


@pytest.mark.parametrize(
    ("status", "document", "value"),
    [
        (200, {"passed": True}, 1.0),
        (200, {"passed": False, "message": "p99 at 900 ms"}, 0.0),
        (202, {}, None),
        (200, {}, None),
        (500, {}, None),
    ],
)
def test_a_load_test_passes_fails_or_runs(status, document, value):
    with HttpSystem(lambda asked: (status, document)) as system:
        settings = {"PLIMSOLL_LOAD_TEST_URL": system.url, "PLIMSOLL_LOAD_TEST_SECRET": "0123456789abcdef"}
        (found,) = LoadTest(LoadTestSettings.model_validate(settings)).measure([QUESTION])
    assert found.value == value
    assert system.asked[0].headers["Idempotency-Key"] == QUESTION.key
    assert system.asked[0].json()["service"] == "web"
