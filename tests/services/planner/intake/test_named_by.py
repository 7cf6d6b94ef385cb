"""No token can take all names, and an operator can take back the names of one."""

from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.reconcile.clock import SystemClock
from libs.store.telemetry.measures import TRAFFIC, USAGE, count_measured
from services.planner.reconcilers.sum_spans import SumSpans
from tests.libs.web.conftest import bearer
from tests.services.planner.intake.exports import export, shop_trace, span

CSV = {"Content-Type": "text/csv"}
HEAD = "minute,service,region,hardware_type,used\n"
FROM = {"minute_zero": (datetime.now(UTC) - timedelta(hours=2)).isoformat()}


@pytest.fixture
def small(make_app, database, gateways, monkeypatch):
    """An API that takes 12 names of services and 12 series, and a sender by the name of a token."""
    monkeypatch.setenv("PLIMSOLL_TRACED_SERVICES_MAX", "12")
    monkeypatch.setenv("PLIMSOLL_SERIES_MAX", "12")
    app = make_app()
    with TestClient(app) as client:
        yield lambda name, role=Role.TELEMETRY: _Sender(client, bearer(database, role, name))


class _Sender:
    def __init__(self, client, headers):
        self.client, self.headers = client, headers

    def ask(self, method, path, **rest):
        rest["headers"] = self.headers | rest.get("headers", {})
        return self.client.request(method, path, **rest)

    def services(self, *names):
        """Return how many of these services have their spans refused."""
        document = export(**{name: [span(i + 1, 1, 0, "x")] for i, name in enumerate(names)})
        answer = self.ask("POST", "/v1/traces", json=document)
        assert answer.status_code == 200, answer.text
        return int(answer.json().get("partialSuccess", {}).get("rejectedSpans", 0))

    def usage(self, *services):
        rows = "".join(f"0,{name},east,hw,1\n" for name in services)
        return self.ask("POST", "/v1/usage", params=FROM, content=HEAD + rows, headers=CSV)


def names(prefix, number):
    return [f"{prefix}{i}" for i in range(number)]


def test_a_token_has_no_more_services_than_are_free_and_others_get_theirs(small):
    harmful, honest, third = small("harmful"), small("honest"), small("third")
    assert harmful.services(*names("junk", 40)) == 40 - 6
    assert honest.services(*names("web", 3)) == 0
    assert harmful.services("junk-more") == 1
    assert harmful.services("web0", "web1") == 0, "a name that is there may be used by whoever"
    assert third.services("db") == 0


def test_a_token_has_no_more_series_than_are_free_and_others_get_theirs(small):
    harmful, honest = small("harmful"), small("honest")
    refused = harmful.usage(*names("junk", 7))
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert "7 series would be of this token and 5 free" in refused.text
    assert harmful.usage(*names("junk", 6)).status_code == 200
    assert honest.usage(*names("web", 3)).status_code == 200
    assert harmful.usage("junk-more").status_code == 422
    assert harmful.usage(*names("junk", 6), "web0").status_code == 200, "what is there may be written by whoever"


def test_an_operator_sees_who_has_the_names_and_frees_them(small, database):
    harmful, honest, olga = small("harmful"), small("honest"), small("olga", Role.OPERATOR)
    assert harmful.services(*names("junk", 6)) == 0
    assert honest.ask("POST", "/v1/traces", json=shop_trace(1)).json() == {}
    SumSpans(database, SystemClock(), 0.0).reconcile()
    assert harmful.services("junk0") == 0, "spans of a forgotten name may wait"
    assert harmful.usage(*names("junk", 4)).status_code == 200
    assert honest.usage("web").status_code == 200

    listed = olga.ask("GET", "/v1/telemetry/names").json()
    assert (listed["services_max"], listed["series_max"]) == (12, 12)
    none = {"traffic_series": 0}
    assert listed["tokens"] == [
        none | {"named_by": "harmful", "services": 6, "usage_series": 4},
        none | {"named_by": "honest", "services": 2, "usage_series": 1},
    ]

    gone = olga.ask("DELETE", "/v1/telemetry/names", params={"named_by": "harmful", "reason": "a test ran wild"})
    assert (gone.status_code, gone.json()) == (200, {"services": 6, "usage_series": 4, "traffic_series": 0})
    SumSpans(database, SystemClock(), 0.0).reconcile()
    assert [one["name"] for one in olga.ask("GET", "/v1/telemetry/services").json()["items"]] == ["front", "store"]
    with database.snapshot() as tx:
        assert (count_measured(tx, USAGE).series, count_measured(tx, TRAFFIC).series) == (1, 0)
    assert honest.usage(*names("more", 5)).status_code == 200


def test_what_was_brought_before_a_moment_may_be_kept(small):
    collector, olga = small("collector"), small("olga", Role.OPERATOR)
    assert collector.services("web") == 0
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    kept = olga.ask("DELETE", "/v1/telemetry/names", params={"named_by": "collector", "since": later})
    assert kept.json() == {"services": 0, "usage_series": 0, "traffic_series": 0}
    earlier = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    gone = olga.ask("DELETE", "/v1/telemetry/names", params={"named_by": "collector", "since": earlier})
    assert gone.json()["services"] == 1


def test_only_an_operator_frees_and_the_token_must_be_there(small):
    assert small("collector").ask("DELETE", "/v1/telemetry/names?named_by=collector").status_code == 403
    answer = small("olga", Role.OPERATOR).ask("DELETE", "/v1/telemetry/names?named_by=ghost")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
