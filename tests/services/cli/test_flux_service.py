"""Run `plimsoll flux` against a platform of its own: inputs, a plan run, its plan, overrides. Each command is
a process.
"""

import functools
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from tests.builders.intake import upload_world
from tests.builders.world import write_world


@pytest.fixture
def client(platform: dict[str, str]) -> Iterator[httpx.Client]:
    found = json.loads((Path(platform["PLIMSOLL_STATE_DIR"]) / "endpoint.json").read_text())
    headers = {"Authorization": f"Bearer {Path(found['token_file']).read_text().strip()}"}
    with httpx.Client(base_url=found["url"], headers=headers, timeout=300) as client:
        yield client


def document(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_world_is_put_planned_and_overridden(plimsoll, client, tmp_path):
    plimsoll = functools.partial(plimsoll, "flux")
    world = write_world(tmp_path / "world", traces=60)
    zero = (datetime.now(UTC) - timedelta(days=2)).replace(hour=0, minute=0, second=0, microsecond=0)
    nothing = plimsoll("run")
    assert nothing.returncode == 2
    assert "gateways" in nothing.stderr
    no_zero = plimsoll("inputs", "put", world)
    assert no_zero.returncode == 1
    assert "events.csv: " in no_zero.stderr
    assert "growth, traffic_growth, ledger are put" in no_zero.stderr
    assert "is not a time" in plimsoll("inputs", "put", world, "--minute-zero", "yesterday").stderr
    answers = document(plimsoll("inputs", "put", world, "--minute-zero", f"{zero:%Y-%m-%d}", "-o", "json"))
    assert {one["name"]: one["version"] for one in answers}["supply"] == 1
    upload_world(client, world, zero.isoformat())
    came = plimsoll("telemetry")
    assert came.returncode == 0, came.stderr
    assert f"{zero:%Y-%m-%d}" in came.stdout
    assert document(plimsoll("telemetry", "-o", "json"))["usage"]["series"] > 0
    made = document(plimsoll("run", "--reason", "first", "-o", "json"))
    assert (made["status"], made["request_reason"]) == ("done", "first")
    shown = plimsoll("plans")
    assert shown.returncode == 0, shown.stderr
    assert "TARGET" in shown.stdout
    saved = plimsoll("plans", made["placement_plan_id"], "--save", tmp_path / "review")
    assert saved.returncode == 0, saved.stderr
    names = {path.name for path in (tmp_path / "review").iterdir()}
    assert names >= {"plan.json", "model.json", "dag.json", "changes.json", "pools.svg"}
    changes = plimsoll("plans", made["placement_plan_id"], "--changes")
    assert "LargestRegion" in changes.stdout
    offline = plimsoll("plan", made["bundle"], "--out", tmp_path / "again.json", "-o", "json")
    assert document(offline)["objective"] == pytest.approx(made["report"]["plan"]["objective"], rel=1e-9)

    least = ("override", "set", "--service", "store", "--region", "west", "--reason", "promised", "--least", "1")
    assert document(plimsoll(*least, "-o", "json"))["in_force"] is True
    clash = plimsoll(*least[:-2], "--most", "0.5")
    assert clash.returncode == 1
    assert "override 1 (promised" in clash.stderr
    assert "promised" in plimsoll("override", "list").stdout
    assert plimsoll("override", "withdraw", 1, "--reason", "over").returncode == 0
    assert "promised" not in plimsoll("override", "list").stdout

    growth = tmp_path / "traffic_growth.csv"
    growth.write_text("step,product,growth\n1,shop,0.5\n")
    assert plimsoll("inputs", "put", growth, "--comment", "a campaign").returncode == 0
    assert "a campaign" in plimsoll("inputs", "history", "traffic_growth").stdout
    assert "added: 1" in plimsoll("inputs", "diff", "traffic_growth").stdout
    out = tmp_path / "back.csv"
    assert plimsoll("inputs", "get", "traffic_growth", "--version", "1", "--out", out).returncode == 0
    assert out.read_text().splitlines()[1] == "2,feed,0.02"
    growth.write_text("step,product,growth\n1,shoe,0.5\n")
    refused = plimsoll("inputs", "put", growth)
    assert refused.returncode == 1
    assert "traffic_growth[0].product" in refused.stderr

    brought = document(plimsoll("names", "list", "-o", "json"))["tokens"]
    token = next(one["named_by"] for one in brought if one["usage_series"])
    listed = plimsoll("names", "list").stdout
    assert token in listed
    assert "at most" in listed
    gone = plimsoll("names", "forget", token, "--reason", "a test ran wild")
    assert gone.returncode == 0, gone.stderr
    assert "series of usage" in gone.stdout
    assert document(plimsoll("telemetry", "-o", "json"))["usage"]["series"] == 0
    assert plimsoll("names", "forget", "ghost").returncode == 1
