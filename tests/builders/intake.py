"""Send a world's measurements over REST, and sum them as the job does."""

from services.planner.reconcilers.sum_spans import SumSpans


def send_world(client, database, clock, folder, minute_zero):
    """Send traces, usage and traffic of a world folder, and sum the traces. `client` may report telemetry."""
    upload_world(client, folder, minute_zero)
    assert SumSpans(database, clock, 0.0).reconcile() is not None


def upload_world(client, folder, minute_zero):
    """Send a world folder, and leave its spans waiting."""
    for name in ("usage", "traffic"):
        given = {"content": (folder / f"{name}.csv").read_bytes(), "headers": {"Content-Type": "text/csv"}}
        answer = client.post(f"/v1/{name}", params={"minute_zero": minute_zero}, **given)
        assert answer.status_code == 200, answer.text
    with (folder / "traces.jsonl").open("rb") as stream:
        answer = client.post("/v1/trace-files", files={"file": ("traces.jsonl", stream)})
    assert answer.status_code == 200, answer.text
    assert answer.json()["rejected"] == 0
