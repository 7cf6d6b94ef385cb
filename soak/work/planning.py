"""Deeds of tracing systems, metrics and planners: spans, usage, traffic, planning inputs and plans."""

from __future__ import annotations

from soak.work.client import Client
from soak.work.planned_world import PRODUCT, SHORT, spans_of, supply

SPANS = 3
"""Number of spans in one export: one of a gateway, and two below it."""
_PLANS_MAX = 3
"""Largest number of plans that one client asks for. Each one starts a process."""


def export_spans(client: Client) -> None:
    """Send one whole trace of the client's own service."""
    trace = client.chance.getrandbits(127) | 1
    ids = [f"{client.chance.getrandbits(63) | 1:016x}" for _ in range(SPANS)]
    spans = [{"spanId": span, "parentSpanId": parent} for span, parent in zip(ids, ("", *ids), strict=False)]
    body = {"resourceSpans": [spans_of(service_of(client), trace, spans, client.site.now())]}
    client.caller.write("export_spans", "POST", "/v1/traces", body, key="")


def report_usage(client: Client) -> None:
    """Report the usage of the client's service in the last minute, on a hardware type."""
    minute = int(client.site.now().timestamp() // 60)
    hardware_type = client.chance.choice(client.site.hardware_types)
    row = f"{minute},{service_of(client)},{client.site.region},{hardware_type},{client.chance.uniform(1, 9):.3f}"
    client.write("report_usage", "POST", "/v1/usage", csv=f"minute,service,region,hardware_type,used\n{row}\n")


def report_traffic(client: Client) -> None:
    """Report the traffic of the last minute, of the planned product or of a product of the client."""
    minute, product = int(client.site.now().timestamp() // 60), client.chance.choice((PRODUCT, client.name))
    row = f"{minute},{product},{client.site.region},{client.chance.uniform(400, 600):.3f}"
    client.write("report_traffic", "POST", "/v1/traffic", csv=f"minute,product,region,requests_per_s\n{row}\n")


def put_input(client: Client) -> None:
    """Put the next version of the table of supply. One region is too small, so the next plan moves traffic away."""
    path = "/v1/planning-inputs/supply"
    found = client.read_etag("get_input", path)
    if found is not None:
        regions = (client.site.region, client.site.quiet_region)
        capacity = [client.chance.uniform(0.8, 1.2) * SHORT, client.chance.uniform(4.0, 9.0)]
        client.chance.shuffle(capacity)
        rows = supply(regions, client.site.hardware_types[0], capacity)
        client.swap("put_input", "PUT", path, {"rows": rows}, generation=found[1])


def run_plan(client: Client) -> None:
    """Ask for a plan."""
    if client.plans < _PLANS_MAX:
        client.plans += 1
        client.write("run_plan", "POST", "/v1/plan-runs", {"dry_run": client.chance.random() < 0.3})


def service_of(client: Client) -> str:
    """Return the name of the client's service."""
    return f"{client.name}-service"
