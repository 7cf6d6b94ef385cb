"""The SLO page and its rules use only existing metrics."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import REGISTRY
from prometheus_client.utils import floatToGoString

from libs.domain.region_condition import RegionConditionType
from libs.observability.tallies import TALLIES
from libs.store.platform.database import Database
from libs.web import metrics
from libs.web.database_metrics import DatabaseCollector
from services.planner import span_metrics

PROMTOOL = shutil.which("promtool")
DOCS = Path(__file__).parents[3] / "docs"
NAME = re.compile(r"\bplimsoll_[a-z0-9_]+")
SEEN_OTHERWISE = {
    RegionConditionType.LOST_SERVERS_REPLACED: "PlimsollCapacityLost",
    RegionConditionType.ROOM_TO_MOVE: "PlimsollMovesWait",
    RegionConditionType.SOLVED: "PlimsollNotSolved",
    RegionConditionType.MOVING: None,
}
"""Conditions that no alert reads, and the alert on what they lead to. None: an operator paused the mover."""
LABELS = re.compile(r"\b(plimsoll_[a-z0-9_]+)\{([^}]*)\}")


def samples() -> set[str]:
    """Return every name that a query may use."""
    families = [*DatabaseCollector(Database("postgresql://nowhere/x")).describe(), *REGISTRY.collect()]
    found = set()
    for family in families:
        endings = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum", "")}.get(family.type, ("",))
        found |= {family.name + ending for ending in endings}
    return found


def label_names(sample: str) -> set[str]:
    known = {t.name: {*t.labels} | ({"le"} if t.buckets else set()) for t in TALLIES}
    known |= {"plimsoll_http_requests": {"route", "method", "status", "code"}}
    known |= {"plimsoll_http_request_seconds": {"route", "method", "le"}}
    for family in DatabaseCollector(Database("postgresql://nowhere/x")).describe():
        known.setdefault(family.name, set(getattr(family, "_labelnames", ())))
    return known[re.sub(r"_(total|bucket|count|sum)$", "", sample)]


def test_http_metrics_are_registered() -> None:
    assert metrics.REQUESTS in REGISTRY._collector_to_names
    assert span_metrics.SPANS in REGISTRY._collector_to_names


@pytest.mark.parametrize("name", ["slo.md", "slo-rules.yml"])
def test_each_metric_that_is_named_exists(name: str) -> None:
    named = set(NAME.findall((DOCS / name).read_text()))
    assert len(named) > 8
    assert named <= samples()


@pytest.mark.parametrize("name", ["slo.md", "slo-rules.yml"])
def test_each_label_that_is_asked_for_exists(name: str) -> None:
    for sample, selector in LABELS.findall((DOCS / name).read_text()):
        asked = set(re.findall(r"([a-z_]+)\s*(?:=~|!~|!=|=)", selector))
        assert asked <= label_names(sample), sample


def test_buckets_that_are_asked_for_exist() -> None:
    by_name = {tally.name: {floatToGoString(le) for le in tally.buckets} for tally in TALLIES}
    by_name["plimsoll_http_request_seconds"] = {floatToGoString(le) for le in metrics.SECONDS._upper_bounds}
    asked = re.findall(r'\b(plimsoll_[a-z_]+)_bucket\{[^}]*le="([^"]+)"', (DOCS / "slo-rules.yml").read_text())
    assert asked
    for name, le in asked:
        assert le in by_name[name], f"{name} has no bucket {le}"


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((DOCS / "slo-rules.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_each_alert_leads_to_what_to_do_first() -> None:
    page = (DOCS / "slo.md").read_text()
    for rule in rules():
        if "alert" in rule:
            anchor = rule["annotations"]["summary"].rpartition("#")[2]
            assert f'<a id="{anchor}"></a>' in page, rule["alert"]


def test_each_promise_names_its_alerts_and_each_alert_its_promise() -> None:
    sections = (DOCS / "slo.md").read_text().split("<a id=")[1:]
    named: set[str] = set()
    for section in sections:
        assert "Promised" in section
        found = set(re.findall(r"`(Plimsoll[A-Za-z]+)`", section))
        assert found, section.splitlines()[0]
        named |= found
    assert named == {rule["alert"] for rule in rules() if "alert" in rule}


def test_each_condition_of_a_region_has_an_alert() -> None:
    alerts = {rule["alert"]: rule["expr"] for rule in rules() if "alert" in rule}
    for kind in RegionConditionType:
        read = [name for name, expr in alerts.items() if re.search(rf'_condition{{type="{kind}"[^}}]*}}\) == 0', expr)]
        if not read:
            assert SEEN_OTHERWISE[kind] in {*alerts, None}, kind


def test_each_recorded_series_that_is_asked_for_is_recorded() -> None:
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    asked = {name for rule in rules() for name in re.findall(r"plimsoll:[a-z0-9_:]+", rule["expr"])}
    assert asked == recorded


@pytest.mark.skipif(PROMTOOL is None, reason="needs promtool, of the package prometheus")
@pytest.mark.parametrize(
    "arguments",
    [["check", "rules", DOCS / "slo-rules.yml"], ["test", "rules", Path(__file__).with_name("slo_rules_cases.yml")]],
)
def test_prometheus_reads_the_rules_and_alerts_fire_when_they_should(arguments: list[str | Path]) -> None:
    assert PROMTOOL is not None
    told = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
