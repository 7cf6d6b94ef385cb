"""A world's measurements, sent over REST as their files are and summed as the job does it."""

from services.planner.reconcilers.sum_spans import SumSpans


def send_world(client, database, clock, folder, minute_zero):
    """Traces, use and traffic of a world folder, the traces summed. `client` may report telemetry."""
    upload_world(client, folder, minute_zero)
    assert SumSpans(database, clock, 0.0).reconcile() is not None


def upload_world(client, folder, minute_zero):
    """Likewise, with the spans waiting to be summed."""
    for name in ("usage", "traffic"):
        given = {"content": (folder / f"{name}.csv").read_bytes(), "headers": {"Content-Type": "text/csv"}}
        answer = client.post(f"/v1/{name}", params={"minute_zero": minute_zero}, **given)
        assert answer.status_code == 200, answer.text
    with (folder / "traces.jsonl").open("rb") as stream:
        answer = client.post("/v1/trace-files", files={"file": ("traces.jsonl", stream)})
    assert answer.status_code == 200, answer.text
    assert answer.json()["rejected"] == 0
