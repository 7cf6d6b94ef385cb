"""Read the figures of the day over REST, and print them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from libs.domain.words import counted_are
from services.cli.client import Client, Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The figures of a day. Times are seconds of real time."""

    requests: Mapping[str, Mapping[str, int]]
    refused: Mapping[str, int]
    moves: Mapping[str, int]
    taken_in_use: int
    taken_idle: int
    solves: Mapping[str, int]
    solve_s: Mapping[str, float]
    region: Json
    reservations: int
    uncovered: int
    capacity_rru: float
    shortfall_rru: float
    troubles: list[str] = field(default_factory=list)

    def as_dict(self) -> Json:
        """Return the figures for JSON."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def read_summary(client: Client, region: str, *, refused: Mapping[str, int]) -> Summary:
    """Read the figures of the day. Its troubles are the events that should not happen.

    refused   number of requests that were answered with a problem, by its code
    """
    requests: dict[str, Counter[str]] = defaultdict(Counter)
    for request in client.items("/v1/capacity-requests", region=region, limit=1000):
        requests[request["kind"]][request["status"]["phase"]] += 1
    moves = Counter(move["status"] for move in client.items("/v1/moves", region=region, limit=1000))
    taken: Counter[str] = Counter()
    solves: Counter[str] = Counter()
    solve_s: Counter[str] = Counter()
    errors = []
    for run in client.items("/v1/solve-runs", region=region, limit=1000):
        solves[run["status"]] += 1
        if run["report"] is not None:
            solve_s.update(run["report"]["step_s"])
            taken.update({name: run["report"]["terms"][name] for name in ("moved_in_use", "moved_idle")})
        if run["error"] is not None:
            errors.append(f"solve run {run['solve_run_id']}: {run['error']}")
    reservations = list(client.items("/v1/reservations", region=region, kind="guaranteed", limit=1000))
    undecided = sum(requests[kind][phase] for kind in requests for phase in ("submitted", "assessing"))
    troubles = [*errors]
    if undecided:
        troubles.append(f"{counted_are(undecided, 'request')} still undecided")
    return Summary(
        requests=requests,
        refused=refused,
        moves=moves,
        taken_in_use=taken["moved_in_use"],
        taken_idle=taken["moved_idle"],
        solves=solves,
        solve_s=solve_s,
        region=client.get(f"/v1/regions/{region}/summary"),
        reservations=len(reservations),
        uncovered=sum(reservation["status"]["current"]["shortfall_rru"] > 0 for reservation in reservations),
        capacity_rru=sum(reservation["spec"]["capacity_rru"] for reservation in reservations),
        shortfall_rru=sum(reservation["status"]["target"]["shortfall_rru"] for reservation in reservations),
        troubles=troubles,
    )


def print_summary(console: Console, summary: Summary) -> None:
    """Print the summary for people."""
    phases = ("granted", "degraded", "rejected", "withdrawn")
    headings = ("REQUESTS", "ALL", *(phase.upper() for phase in phases))
    asked = Table(*headings, box=None, pad_edge=False, header_style="bold")
    for kind, found in sorted(summary.requests.items()):
        asked.add_row(kind, str(sum(found.values())), *(str(found.get(phase, 0)) for phase in phases))
    console.print(asked)
    region, moves, reservations = summary.region, summary.moves, summary.reservations
    by_time = sorted(summary.solve_s.items(), key=lambda step: -step[1])
    lines = {
        "refused": ", ".join(f"{number} {code}" for code, number in sorted(summary.refused.items())) or "none",
        "reservations": f"{reservations}, {reservations - summary.uncovered} of them whole even if any one MSB is lost",
        "capacity": f"{summary.capacity_rru:,.0f} RRU asked for, {summary.shortfall_rru:,.1f} of them short",
        "buffers": f"{region['embedded_buffer_rru']:,.0f} RRU embedded for the loss of an MSB, "
        f"{region['shared_buffer_rru']:,.0f} shared for random failures",
        "moves": ", ".join(f"{moves.get(status, 0)} {status}" for status in ("done", "cancelled", "failed"))
        + f"; solves took {summary.taken_in_use} servers in use and {summary.taken_idle} idle ones from reservations",
        "solves": ", ".join(f"{number} {status}" for status, number in sorted(summary.solves.items())) or "none",
        "solve time": ", ".join(f"{name} {took_s:.1f} s" for name, took_s in by_time),
    }
    for name, line in lines.items():
        console.print(f"[bold]{name:12}[/bold] {line}", soft_wrap=True, highlight=False)
    for trouble in summary.troubles:
        console.print(f"[red]trouble:[/red] {trouble}", highlight=False)
