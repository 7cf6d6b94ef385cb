"""The SLO page and its rules speak of metrics that there are."""

import re
from pathlib import Path

import pytest
import yaml
from prometheus_client import REGISTRY
from prometheus_client.utils import floatToGoString

from libs.observability.tallies import TALLIES
from libs.store.database import Database
from libs.web import metrics
from libs.web.platform_metrics import PlatformCollector

DOCS = Path(__file__).parents[2] / "docs"
NAME = re.compile(r"\bplimsoll_[a-z0-9_]+")
LABELS = re.compile(r"\b(plimsoll_[a-z0-9_]+)\{([^}]*)\}")


def samples() -> set[str]:
    """Every name that a query may use."""
    families = [*PlatformCollector(Database("postgresql://nowhere/x")).describe(), *REGISTRY.collect()]
    found = set()
    for family in families:
        endings = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum", "")}.get(family.type, ("",))
        found |= {family.name + ending for ending in endings}
    return found


def label_names(sample: str) -> set[str]:
    known = {t.name: {*t.labels} | ({"le"} if t.buckets else set()) for t in TALLIES}
    known |= {"plimsoll_http_requests": {"route", "method", "status", "code"}}
    known |= {"plimsoll_http_request_seconds": {"route", "method", "le"}}
    for family in PlatformCollector(Database("postgresql://nowhere/x")).describe():
        known.setdefault(family.name, set(getattr(family, "_labelnames", ())))
    return known[re.sub(r"_(total|bucket|count|sum)$", "", sample)]


def test_http_metrics_are_registered() -> None:
    assert metrics.REQUESTS in REGISTRY._collector_to_names


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


def test_the_rules_are_as_prometheus_reads_them() -> None:
    rules = [
        rule for group in yaml.safe_load((DOCS / "slo-rules.yml").read_text())["groups"] for rule in group["rules"]
    ]
    recorded = {rule["record"] for rule in rules if "record" in rule}
    page = (DOCS / "slo.md").read_text()
    for rule in rules:
        assert set(rule) <= {"record", "alert", "expr", "for", "labels", "annotations"}
        assert rule["expr"].count("(") == rule["expr"].count(")")
        assert set(re.findall(r"plimsoll:[a-z0-9_:]+", rule["expr"])) <= recorded
        if "alert" in rule:
            anchor = rule["annotations"]["summary"].rpartition("#")[2]
            assert f'<a id="{anchor}"></a>' in page, "each alert leads to what to do first"
