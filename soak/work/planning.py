"""What tracing systems, metrics and planners do: spans, use, planning inputs, plans."""

from __future__ import annotations

from soak.work.client import Client

SPANS = 3
"""In one export: a gateway's, and two below it."""
_PLANS_MAX = 3
"""That one client asks for: each costs a process."""


def export_spans(client: Client) -> None:
    """Send one whole trace of the client's own service, as an OpenTelemetry SDK does."""
    trace = f"{client.chance.getrandbits(127) | 1:032x}"
    ids = [f"{client.chance.getrandbits(63) | 1:016x}" for _ in range(SPANS)]
    began_ns = int(client.site.now().timestamp() * 1e9)
    spans = [
        {
            "traceId": trace,
            "spanId": span,
            "parentSpanId": parent,
            "name": "GET /",
            "startTimeUnixNano": str(began_ns),
            "endTimeUnixNano": str(began_ns + 1_000_000),
        }
        for span, parent in zip(ids, ("", *ids), strict=False)
    ]
    named = {"attributes": [{"key": "service.name", "value": {"stringValue": service_of(client)}}]}
    body = {"resourceSpans": [{"resource": named, "scopeSpans": [{"spans": spans}]}]}
    client.caller.write("export_spans", "POST", "/v1/traces", body, key="")


def report_usage(client: Client) -> None:
    """Report what the client's service used in the last minute, on a hardware type."""
    minute = int(client.site.now().timestamp() // 60)
    hardware_type = client.chance.choice(client.site.hardware_types)
    row = f"{minute},{service_of(client)},{client.site.region},{hardware_type},{client.chance.uniform(1, 9):.3f}"
    client.write("report_usage", "POST", "/v1/usage", csv=f"minute,service,region,hardware_type,used\n{row}\n")


def put_input(client: Client) -> None:
    """Put the next version of a table: what the region will have."""
    path = "/v1/planning-inputs/supply"
    found = client.read_etag("get_input", path)
    if found is not None:
        rows = [
            {"step": 0, "region": client.site.region, "hardware_type": one, "capacity": client.chance.uniform(1, 99)}
            for one in client.site.hardware_types
        ]
        client.swap("put_input", "PUT", path, {"rows": rows}, generation=found[1])


def run_plan(client: Client) -> None:
    """Ask for a plan; without all inputs it ends with a reason, and it must end."""
    if client.plans < _PLANS_MAX:
        client.plans += 1
        client.write("run_plan", "POST", "/v1/plan-runs", {"dry_run": client.chance.random() < 0.5})


def service_of(client: Client) -> str:
    """The service that a client speaks for."""
    return f"{client.name}-service"
