"""One trace goes from a request through its job to the phases of the solve, in three processes with a real exporter."""

import base64
from datetime import UTC, datetime
from pathlib import Path

import httpx

from libs.domain.reservation import ReservationSpec
from libs.store.platform.database import Database
from libs.store.regions.region_import import import_region
from services.portal.admin_token import ensure_admin_token
from services.standalone.supervisor import listen
from tests.builders.region import region_image
from tests.crash.harness import JobProcesses, api, wait_until
from tests.libs.observability.collector import Collector, collecting

PHASES = ("load", "build", "search", "extraction", "racks", "evaluation", "check", "commit")
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


def test_one_trace_spans_request_job_and_solve(database_url: str, tmp_path: Path) -> None:
    database = Database(database_url, pool_size=1)
    with database.write() as tx:
        ensure_admin_token(tx, tmp_path / "token", now=datetime.now(UTC))
        fat = ReservationSpec(capacity_rru=6, rru={"hw-a": 1.0})
        import_region(tx, region_image(msbs=4, reservations={"fat": fat}), actor="test", now=datetime.now(UTC))
    database.close()
    secret = (tmp_path / "token").read_text().strip()
    headers = {"Authorization": f"Bearer {secret}", "traceparent": f"00-{TRACE_ID}-b7ad6b7169203331-01"}
    with collecting() as collector:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "100"}
        worker = env | {"PLIMSOLL_BUNDLE_DIR": str(tmp_path / "bundles"), "PLIMSOLL_SIMULATED_DELAY": "0.001"}
        with (
            listen() as sock,
            api(tmp_path, database_url, sock, **env),
            JobProcesses(tmp_path, database_url, **worker) as processes,
        ):
            processes.start()
            url = f"http://127.0.0.1:{sock.getsockname()[1]}"
            answer = httpx.post(f"{url}/v1/solve-runs", json={"region": "west"}, headers=headers, trust_env=False)
            assert answer.status_code == 202, answer.text
            wait_until(lambda: bool(collector.named("job move")), "the mover's tick is told")
            wait_until(lambda: bool(collector.named("job solve")), "the solve is told")
        check(collector, secret)
        logged = (tmp_path / "worker.log").read_text()
    assert f'"trace_id": "{TRACE_ID}"' in logged, "logs say whose trace they belong to"


def check(collector: Collector, secret: str) -> None:
    in_trace = {span["name"]: span for span in collector.spans if hex_of(span["traceId"]) == TRACE_ID}
    request, job = in_trace["POST /v1/solve-runs"], in_trace["job solve"]
    assert (request["service"], job["service"]) == ("plimsoll-api", "plimsoll-worker")
    assert job["parentSpanId"] == request["spanId"]
    for phase in PHASES:
        assert in_trace[f"solve {phase}"]["parentSpanId"] == job["spanId"], phase
    [move] = collector.named("job move")
    assert hex_of(move["traceId"]) != TRACE_ID, "a tick serves many: it is no part of one solve"
    assert [link["traceId"] for link in move["links"]] == [job["traceId"]]
    assert move["links"][0]["spanId"] == in_trace["solve commit"]["spanId"]
    said = str(collector.spans)
    assert secret not in said
    assert "postgresql://" not in said


def hex_of(base64_id: str) -> str:
    return base64.b64decode(base64_id).hex()
