"""`plimsoll flux traces`: show calls between services in trace files, by product."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from libs.domain.demand import Demand
from libs.flux.attribution.attributor import Attributor
from libs.interchange.files.errors import InterchangeError, Problem
from libs.interchange.traces.intake import Intake
from libs.interchange.traces.readers import read_traces
from services.cli.flux.offline import WINDOW_SPANS
from services.cli.output import percent, print_rows, stdout


def entries_of(given: list[str]) -> dict[tuple[str, str], int]:
    """Parse SERVICE:OPERATION; each becomes an entry point of a product of that name. Raises InterchangeError."""
    found: dict[tuple[str, str], int] = {}
    for number, entry in enumerate(given):
        service, colon, operation = entry.partition(":")
        if not (service and colon and operation):
            raise InterchangeError([Problem("--entry", None, None, f"{entry!r} is not SERVICE:OPERATION")])
        found[service, operation] = number
    return found


def read_graph(files: list[Path], entries: list[str]) -> dict[str, Any]:
    """Return services, their calls, and the share of calls that each entry point causes. Raises InterchangeError."""
    intake = Intake(gateways=entries_of(entries))
    found = Attributor(products=len(entries), window=WINDOW_SPANS)
    for path in files:
        for spans in read_traces(path, intake):
            found.add(spans, found.spans, len(intake.services))
    demand = found.finish(len(intake.services))
    edges = demand.edges
    names = list(intake.services)
    return {
        "spans": found.spans,
        "attributed": int(demand.attributed.sum()),
        "orphaned": int(demand.orphaned.sum()),
        "late": found.late,
        "duplicates": demand.duplicates,
        "malformed": intake.malformed,
        "services": {name: _service(demand, s, entries) for s, name in enumerate(names)},
        "calls": [
            {"caller": names[a], "callee": names[b], "calls": int(count)}
            for a, b, count in zip(edges.caller, edges.callee, edges.count, strict=True)
            if a != b
        ],
    }


def _service(demand: Demand, s: int, entries: list[str]) -> dict[str, Any]:
    calls, busy = demand.cost["calls"][:, s].sum(0), demand.cost["self_time"][:, s].sum(0)
    total = max(float(calls.sum()), 1.0)
    return {
        "spans": int(demand.spans[s]),
        "calls": float(calls.sum()),
        "self_time_s": float(busy.sum()),
        "products": {entry: float(c / total) for entry, c in zip(entries, calls, strict=True) if c > 0},
    }


def print_graph(graph: dict[str, Any]) -> None:
    """Print the services and the calls between them, for people."""
    callees: dict[str, list[str]] = {}
    for call in graph["calls"]:
        callees.setdefault(call["caller"], []).append(call["callee"])
    rows = [
        {
            "SERVICE": name,
            "CALLS": service["calls"],
            "SELF TIME, S": service["self_time_s"],
            "FOR": ", ".join(f"{entry} {percent(share)}" for entry, share in service["products"].items()),
            "CALLED": ", ".join(sorted(callees.get(name, []))),
        }
        for name, service in sorted(graph["services"].items())
    ]
    print_rows(rows, {heading: heading for heading in rows[0]} if rows else {})
    counts = {key: graph[key] for key in ("spans", "attributed", "orphaned", "late", "duplicates", "malformed")}
    stdout.print(", ".join(f"{count:,} {name}" for name, count in counts.items()), highlight=False)
