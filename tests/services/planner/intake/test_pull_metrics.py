"""Pull usage and traffic from a real Prometheus if installed, and from a fake one."""

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from libs.reconcile.call_retries import PULLS, Backoff
from libs.reconcile.clock import Clock
from libs.store.telemetry.measures import USAGE, count_measured
from libs.store.telemetry.metric_sources import load_source
from libs.store.telemetry.window import load_telemetry
from services.planner.prometheus import Prometheus
from services.planner.reconcilers.pull_metrics import PullMetrics
from services.planner.telemetry_settings import TelemetrySettings
from tests.services.planner.intake.conftest import WORDS
from tests.services.planner.intake.prometheus_server import MISSING, FakePrometheus, matrix, running_prometheus

STORE, EAST, WEST, SHOP = 0, 0, 1, 0
NOW = datetime(2026, 11, 2, 6, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 2, tzinfo=UTC)
USE = {
    "fills": "usage",
    "query": "sum by (app, region) (rate(cpu_seconds_total[5m]))",
    "labels": {"service": "app", "region": "region"},
    "constants": {"hardware_type": "hw"},
    "scale": 2.0,
}


class StandingClock(Clock):
    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def sleep(self, seconds: float) -> None:
        raise AssertionError("nobody waits here")


def put(operator, body=USE, name="cpu", generation=0):
    response = operator.put(f"/v1/metric-sources/{name}", json=body, headers={"If-Match": f'"{generation}"'})
    assert response.status_code == 200, response.text
    return response.json()


def pull(database, url, *, at=NOW, days=0.25):
    settings = TelemetrySettings(PLIMSOLL_PROMETHEUS_BACKFILL_DAYS=days, PLIMSOLL_PROMETHEUS_DELAY_S=0)
    with closing(Prometheus(url, retries=replace(PULLS, backoff=Backoff(0.0)))) as prometheus:
        PullMetrics(database, StandingClock(at), settings, prometheus, lambda: None).reconcile()


def status(database, name="cpu"):
    with database.snapshot() as tx:
        return load_source(tx, name).pull


def seen(database):
    with database.snapshot() as tx:
        return load_telemetry(tx, WORDS, start=MIDNIGHT, end=MIDNIGHT + timedelta(days=1)).observations


@pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}: apt-get install prometheus")
def test_a_real_prometheus_is_pulled_hour_by_hour_and_from_where_it_was(database, operator, tmp_path):
    """cpu_seconds_total of store rises by 3 a second in the east, 1 in the west; shop has 70 requests a second."""
    zero, minutes = int(MIDNIGHT.timestamp()), range(-10, 8 * 60)
    lines = ["# TYPE cpu_seconds counter"]
    for region, rate in (("east", 3), ("west", 1)):
        label = f'{{app="store",region="{region}"}}'
        lines += [f"cpu_seconds_total{label} {rate * 60 * (m + 10)} {zero + 60 * m}" for m in minutes]
    lines.append("# TYPE requests counter")
    label = '{product="shop",zone="east"}'
    lines += [f"requests_total{label} {70 * 60 * (m + 10)} {zero + 60 * m}" for m in minutes]
    put(operator)
    labels = {"product": "product", "region": "zone"}
    query = "sum by (product, zone) (rate(requests_total[5m]))"
    put(operator, {"fills": "traffic", "query": query, "labels": labels, "step_minutes": 5}, name="requests")
    with running_prometheus(tmp_path, "\n".join([*lines, "# EOF\n"])) as url:
        pull(database, url)
        found = seen(database)
        assert found.minute.tolist() == list(range(360))
        assert found.usage[STORE, EAST] == pytest.approx(6.0)
        assert found.usage[STORE, WEST] == pytest.approx(2.0)
        assert found.traffic[SHOP, EAST, found.minute % 5 == 0] == pytest.approx(70.0)
        assert np.isnan(found.traffic[SHOP, EAST, found.minute % 5 != 0]).all()
        assert status(database).pulled_until == MIDNIGHT + timedelta(hours=6)
        assert status(database).error is None
        pull(database, url, at=NOW + timedelta(hours=1))
        assert seen(database).minute.tolist() == list(range(420))
        bad = put(operator, USE | {"query": "sum by ("}, generation=1)
        assert bad["pull"] is None
        pull(database, url)
        assert "bad_data" in status(database).error
        assert "parse error" in status(database).error


def test_a_pull_goes_on_where_a_failure_stopped_it(database, operator):
    hour = 3600.0
    zero = MIDNIGHT.timestamp()
    answers = [matrix(({"app": "store", "region": "east"}, [(zero + n * hour, str(n))])) for n in range(6)]
    put(operator)
    with FakePrometheus((200, answers[0]), (200, answers[1]), (503, b"starting")).serving() as fake:
        pull(database, fake.url)
    assert "503: starting" in status(database).error
    assert status(database).pulled_until == MIDNIGHT + timedelta(hours=2)
    with FakePrometheus((500, b"a moment"), *((200, answer) for answer in answers[2:])).serving() as fake:
        pull(database, fake.url)
        assert float(fake.asked[0]["start"]) == float(fake.asked[1]["start"]) == zero + 2 * hour
        assert float(fake.asked[1]["end"]) == zero + 3 * hour - 60
        assert (fake.asked[1]["query"], fake.asked[1]["step"]) == (USE["query"], "60")
    assert status(database).error is None
    assert seen(database).usage[STORE, EAST].tolist() == [0, 2, 4, 6, 8, 10]


@pytest.mark.parametrize(
    ("status_code", "document", "says"),
    [
        (422, {"errorType": "execution", "error": "query timed out"}, "422: execution: query timed out"),
        (200, {"data": {"resultType": "vector", "result": []}}, "a vector, not series"),
        (200, b"<html>", "not one of Prometheus"),
        (
            200,
            matrix(({"app": "store", "region": "east", "pod": "a"}, []), ({"app": "store", "region": "east"}, [])),
            "both service='store', region='east', hardware_type='hw': aggregate with sum by (app, region)",
        ),
        (302, b"elsewhere", "302"),
    ],
)
def test_what_is_wrong_is_said_in_words_and_nothing_is_kept(database, operator, status_code, document, says):
    put(operator)
    with FakePrometheus((status_code, document)).serving() as fake:
        pull(database, fake.url)
        assert len(fake.asked) == 1
    assert says in status(database).error
    told = operator.get("/v1/metric-sources/cpu").json()["pull"]
    assert says in told["error"]
    with database.snapshot() as tx:
        assert count_measured(tx, USAGE).series == 0


def test_nobody_there_is_tried_again_and_then_told(database, operator):
    put(operator)
    with FakePrometheus((200, matrix())).serving() as fake:
        url = fake.url
    pull(database, url)
    assert "does not answer" in status(database).error


def test_series_without_a_name_and_values_that_are_no_amounts_are_left_out(database, operator):
    zero = MIDNIGHT.timestamp()
    values = [(zero, "NaN"), (zero + 60, "+Inf"), (zero + 120, "-1"), (zero + 180, "1.5")]
    put(operator)
    with FakePrometheus(
        (200, matrix(({"app": "store", "region": "east"}, values), ({"app": "store"}, values)))
    ).serving() as f:
        pull(database, f.url, days=1 / 24)
    assert (status(database).samples, status(database).series_left_out) == (1, 1)
    assert seen(database).minute.tolist() == [3]


def test_sources_are_kept_in_generations_and_audited(database, operator):
    assert put(operator)["generation"] == 1
    stale = operator.put("/v1/metric-sources/cpu", json=USE, headers={"If-Match": '"0"'})
    assert (stale.status_code, stale.json()["code"]) == (409, "stale_generation")
    assert put(operator, USE | {"scale": 3.0}, generation=1)["generation"] == 2
    assert [source["scale"] for source in operator.get("/v1/metric-sources").json()["items"]] == [3.0]
    unnamed = operator.put("/v1/metric-sources/x", json=USE | {"constants": {}}, headers={"If-Match": '"0"'}).json()[
        "errors"
    ][0]
    assert "hardware_type, region, service" in unnamed["message"]
    assert operator.delete("/v1/metric-sources/cpu", headers={"If-Match": '"2"'}).status_code == 204
    assert operator.get("/v1/metric-sources/cpu").status_code == 404


def test_of_two_that_pull_at_once_one_gives_way(database, operator):
    """The second has read the source before the first commits."""
    zero = MIDNIGHT.timestamp()
    put(operator)

    class Overtaken(Prometheus):
        def query_range(self, *arguments):
            answer = Prometheus.query_range(self, *arguments)
            if len(fake.asked) == 1:
                pull(database, fake.url, days=1 / 24)
            return answer

    answers = [(200, matrix(({"app": "store", "region": "east"}, [(zero + 5 * 3600, value)]))) for value in "12"]
    with FakePrometheus(*answers).serving() as fake:
        settings = TelemetrySettings(PLIMSOLL_PROMETHEUS_BACKFILL_DAYS=1 / 24, PLIMSOLL_PROMETHEUS_DELAY_S=0)
        with closing(Overtaken(fake.url)) as prometheus:
            PullMetrics(database, StandingClock(NOW), settings, prometheus, lambda: None).reconcile()
    assert seen(database).usage[STORE, EAST].tolist() == [4.0]


@pytest.mark.parametrize("value", [None, "", "many", {}])
def test_an_answer_with_a_value_that_is_no_number_does_not_hold_up_the_other_sources(database, operator, value):
    put(operator, name="broken")
    put(operator, name="whole")
    zero, labels = MIDNIGHT.timestamp(), {"app": "store", "region": "east"}
    good, bad = (200, matrix((labels, [(zero, "1")]))), (200, matrix((labels, [(zero, value)])))
    with FakePrometheus(bad, good).serving() as fake:
        pull(database, fake.url)
    assert "not a number" in status(database, "broken").error
    assert status(database, "broken").pulled_until == MIDNIGHT
    assert status(database, "whole").pulled_until == NOW
    assert status(database, "whole").error is None
