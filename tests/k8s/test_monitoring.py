"""The rules for the Prometheus operator are those of docs/slo-rules.yml, and the dashboard asks for what exists."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders.deployment import ROOT
from tests.fixtures.golden import Golden
from tests.libs.observability.test_slo import LABELS, NAME, PROMTOOL, label_names, samples

MONITORING = "k8s/components/monitoring"
HEAD = """\
# docs/slo-rules.yml for the Prometheus operator; `./scripts/test --bless` writes this file.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: plimsoll
spec:
"""


def panels() -> list[dict[str, Any]]:
    dashboard = json.loads((ROOT / MONITORING / "dashboards" / "plimsoll.json").read_text())
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def queries() -> list[str]:
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def test_there_is_one_source_of_rules(golden: Golden) -> None:
    rules = (ROOT / "docs" / "slo-rules.yml").read_text()
    text = HEAD + "".join(f"  {line}" if line.strip() else line for line in rules.splitlines(keepends=True))
    Golden(ROOT, bless=golden.bless).check(f"{MONITORING}/rules.yaml", text)
    assert yaml.safe_load(text)["spec"] == yaml.safe_load(rules)


def test_each_panel_asks_for_metrics_and_labels_that_exist() -> None:
    assert len(queries()) > 15
    for query in queries():
        assert set(NAME.findall(query)) <= samples(), query
        for sample, selector in LABELS.findall(query):
            assert set(re.findall(r"([a-z_]+)\s*(?:=~|!~|!=|=)", selector)) <= label_names(sample), query


def test_the_capacity_of_requests_that_wait_is_not_called_promised() -> None:
    shown = [(one["legendFormat"], panel) for panel in panels() for one in panel["targets"] if of_all(one["expr"])]
    assert [legend for legend, _ in shown if "asked for" in legend]
    for legend, panel in shown:
        assert "promise" not in f"{legend} {panel['title']} {panel['description']}".lower(), legend


def of_all(query: str) -> bool:
    """Return whether a query counts what reservations ask for, granted or not."""
    return bool({"plimsoll_capacity_rru", "plimsoll_missing_rru", "plimsoll_reservations"} & set(NAME.findall(query)))


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24, panel["title"]
        taken |= cells


@pytest.mark.skipif(PROMTOOL is None, reason="needs promtool, of the package prometheus")
def test_prometheus_reads_each_query(tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:{number}", "expr": query.replace("$region", ".*")} for number, query in enumerate(queries())
    ]
    path = tmp_path / "rules.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    assert PROMTOOL is not None
    checks = [
        ["check", "rules", path],
        ["check", "config", "--syntax-only", ROOT / "docker" / "prometheus.yml"],
    ]
    for arguments in checks:
        told = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, check=False)
        assert told.returncode == 0, told.stdout + told.stderr
