"""`plimsoll flux send`: a world folder gives the same sums through the service and offline."""

import gzip
import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from libs.domain.principal import Role
from libs.flux.attribution.attributor import Attributor
from libs.interchange.traces.intake import Intake
from libs.interchange.traces.readers import read_traces
from libs.interchange.world.read import load_gateways, load_observations, load_vocabulary
from libs.reconcile.clock import SystemClock
from libs.store.planner.planning_inputs import append_version
from libs.store.telemetry.span_batches import count_waiting
from libs.store.telemetry.window import load_telemetry
from services.cli.main import main
from services.planner.reconcilers.sum_spans import SumSpans
from tests.builders.world import write_table, write_world
from tests.libs.web.conftest import bearer
from tests.services.planner.intake.conftest import NOW, gateways_content, serving

ZERO = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=5)


@pytest.fixture
def world(tmp_path):
    folder = write_world(tmp_path / "world", traces=60)
    write_table(folder, "events", ["start_minute", "end_minute"], [])  # the planner leaves these out itself
    return folder


@pytest.fixture
def send(make_app, database, world, monkeypatch, capsys):
    rows = [line.split(",") for line in (world / "gateways.csv").read_text().splitlines()[1:]]
    content = gateways_content(
        dict(zip(("product", "service", "operation"), map(list, zip(*rows, strict=True)), strict=True))
    )
    with database.write() as tx:
        append_version(tx, "gateways", content, rows=2, generation=0, comment=None, created_by="olga", now=NOW)
    token = bearer(database, Role.TELEMETRY, "collector")["Authorization"].split()[1]
    with serving(make_app()) as url:
        monkeypatch.setenv("PLIMSOLL_URL", url)
        monkeypatch.setenv("PLIMSOLL_TOKEN", token)

        def run(*arguments):
            monkeypatch.setattr("sys.argv", ["plimsoll", "flux", "send", *map(str, arguments)])
            with pytest.raises(SystemExit) as left:
                main()
            out, err = capsys.readouterr()
            said = [line for line in out.splitlines() if not line.startswith('{"')]  # the server logs into it
            return left.value.code or 0, "\n".join(said), err

        yield run


def test_a_world_that_is_sent_is_the_world_that_is_read(send, database, world):
    code, out, err = send(
        *(world / name for name in ("traces.jsonl", "usage.csv", "traffic.csv")), "--minute-zero", ZERO.isoformat()
    )
    assert code == 0, err
    assert "120 spans wait to be summed, 0 were invalid" in out
    assert "samples of 9 series" in out
    SumSpans(database, SystemClock(), 0.0).reconcile()
    words = load_vocabulary(world)
    with database.snapshot() as tx:
        end = datetime.now(UTC) + timedelta(days=1)
        found = load_telemetry(tx, words, start=ZERO, end=end)
    offline = load_observations(world, words)
    assert found.observations.minute.tolist() == offline.minute.tolist()
    np.testing.assert_allclose(found.observations.usage, offline.usage, rtol=1e-6)
    np.testing.assert_allclose(found.observations.traffic, offline.traffic, rtol=1e-6)
    intake = Intake(gateways=load_gateways(world).operations)
    whole = Attributor(products=2, window=1e9)
    for spans in read_traces(world / "traces.jsonl", intake):
        whole.add(spans, 0, len(intake.services))
    demand = whole.finish(len(intake.services)).of_services([intake.services[str(name)] for name in words.services])
    for metric, cost in demand.cost.items():
        np.testing.assert_allclose(found.demand.cost[metric], cost, rtol=1e-12)
    np.testing.assert_allclose(found.demand.gateway, demand.gateway)
    assert found.demand.spans.tolist() == demand.spans.tolist()
    for field in ("caller", "callee", "count"):
        assert getattr(found.demand.edges, field).tolist() == getattr(demand.edges, field).tolist()
    assert found.unknown == {"usage": 0, "traffic": 0, "demand": 0}


@pytest.mark.parametrize("name", ["a.zipkin.json", "a.jaeger.json.gz"])
def test_files_of_other_tracing_systems_go_in_whatever_their_name(send, database, world, name):
    trace, front = "ab" * 16, {"serviceName": "shop-front"}
    if "zipkin" in name:
        document = [{"traceId": trace, "id": "a1", "kind": "SERVER", "name": "GET /shop", "localEndpoint": front}]
    else:
        span = {"traceID": trace, "spanID": "a1", "operationName": "GET /shop", "processID": "p"}
        document = {"data": [{"spans": [span], "processes": {"p": front}}]}
    content = json.dumps(document).encode()
    (world / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    code, out, err = send(world / name, "--as", "traces", "--output", "json")
    assert code == 0, err
    assert json.loads(out)[0]["spans"] == 1
    sums = SumSpans(database, SystemClock(), 0.0).reconcile()
    assert sums.demand.gateway.sum() == 1


def test_what_cannot_be_sent_is_said(send, database, world):
    assert send(world / "policy.json")[0] == 1
    (world / "traces.csv").write_text("TraceID\n")
    code, _, err = send(world / "traces.csv")
    assert code == 1
    assert "lacks the columns" in err
    code, _, err = send(world / "usage.csv")
    assert code == 1
    assert "minute_zero" in err
    assert send(world / "usage.csv", "--minute-zero", "noon")[0] == 1
    assert send(world / "usage.csv", "--minute-zero", ZERO.isoformat(), "--dry-run")[0] == 0
    with database.snapshot() as tx:
        assert count_waiting(tx).spans == 0
        assert (
            load_telemetry(
                tx, load_vocabulary(world), start=ZERO, end=ZERO + timedelta(days=3)
            ).observations.minute.size
            == 0
        )
