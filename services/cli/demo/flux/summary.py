"""The figures of the loop, and how they are printed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime

from rich.console import Console
from rich.table import Table

from services.cli.client import Json
from services.cli.demo.flux.loop import Cycle, Loop
from services.cli.demo.flux.record import Proof, by_region
from services.cli.demo.flux.troubles import FAILING
from services.cli.demo.flux.world import EAST, REGIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleFigures:
    """The figures of one cycle. Capacities are in vCPUs.

    actions         phase -> number of actions
    up, down        (planned, executed) capacity
    moved           share of the products' traffic that moved, on average over the products
    by_itself       share of the actions in which no person had a hand
    hours           simulated hours from the start of the execution to its end
    model_error     mean error of the service models, as a share of the measured use
    """

    cycle: int
    actions: dict[str, int]
    up: tuple[float, float]
    down: tuple[float, float]
    moved: float
    by_itself: float
    hours: float
    model_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of the loop.

    traffic      region -> its share of the traffic before and after
    servers      servers of the east before the first cycle and after the last
    story        the troubles, and what became of them, in order
    troubles     what should not have happened
    """

    cycles: list[CycleFigures]
    traffic: dict[str, tuple[float, float]]
    servers: list[int]
    proof: Proof
    story: list[str]
    troubles: list[str]

    def as_dict(self) -> Json:
        """Return the figures for JSON."""
        return asdict(self)


def figures_of(loop: Loop, proof: Proof) -> Figures:
    """Return the figures of a loop that has come to its end."""
    first, last = (by_region(loop.traffic.shifts[i].shares) for i in (0, -1))
    troubles = [f"{name} did not come" for name in loop.troubles.missing()]
    troubles += [
        f"{lack.at:%a %H:%M} {lack.service} in {lack.region} held {lack.held:.1f} and needed {lack.needed:.1f}"
        for lack in proof.lacks
    ]
    return Figures(
        cycles=[_cycle(one) for one in loop.cycles],
        traffic={region: (first[region], last[region]) for region in REGIONS},
        servers=loop.servers,
        proof=proof,
        story=_story(loop),
        troubles=troubles,
    )


def print_figures(console: Console, figures: Figures) -> None:
    """Print the figures for people."""
    table = Table(
        *("CYCLE", "UP vCPU", "DOWN vCPU", "TRAFFIC MOVED", "BY ITSELF", "TOOK", "MODEL ERROR"),
        box=None,
        pad_edge=False,
        header_style="bold",
    )
    for one in figures.cycles:
        up, down = (f"{done:.0f} of {planned:.0f}" for planned, done in (one.up, one.down))
        shares = (f"{one.moved:.1%}", f"{one.by_itself:.0%}", f"{one.hours:.0f} h", f"{one.model_error:.1%}")
        table.add_row(str(one.cycle), up, down, *shares)
    console.print(table)
    proof = figures.proof
    lines = {
        "servers": f"{EAST} " + " -> ".join(map(str, figures.servers)),
        "traffic": ", ".join(f"{region} {a:.0%} -> {b:.0%}" for region, (a, b) in figures.traffic.items()),
        "record": f"{proof.looks:,} looks at a service in a region, at {proof.moments:,} changes of traffic or "
        f"capacity; the tightest held {proof.tightest:.0%} of its need at peak, with any one MSB lost",
    }
    for name, line in lines.items():
        console.print(f"[bold]{name:9}[/bold]{line}", soft_wrap=True, highlight=False)
    for event in figures.story:
        console.print(f"         {event}", soft_wrap=True, highlight=False, markup=False)
    for trouble in figures.troubles:
        console.print(f"[red]trouble:[/red] {trouble}", soft_wrap=True, highlight=False)


def _cycle(one: Cycle) -> CycleFigures:
    phases: dict[str, int] = {}
    for action in one.actions:
        phases[action["phase"]] = phases.get(action["phase"], 0) + 1
    began, ended = (datetime.fromisoformat(one.execution[name]) for name in ("started_at", "finished_at"))
    return CycleFigures(
        cycle=one.number,
        actions=phases,
        up=_covered(one.actions, "upsize"),
        down=_covered(one.actions, "downsize"),
        moved=one.run["report"]["plan"]["steps"][0]["traffic_moved"],
        by_itself=sum(not a["person"] for a in one.actions) / len(one.actions),
        hours=(ended - began).total_seconds() / 3600,
        model_error=one.run["report"]["models"]["error_mean"],
    )


def _covered(actions: Iterable[Json], phase: str) -> tuple[float, float]:
    """Return the planned and the executed change of capacity of a phase."""
    own = [a for a in actions if a["phase"] == phase]
    done = sum(abs(a["size"] - a["before"]) for a in own if a["state"] == "done")
    return sum(abs(a["after"] - a["before"]) for a in own), done


def _story(loop: Loop) -> list[str]:
    """Return the troubles, and what became of them, in order of time."""
    troubles, found = loop.troubles, []
    if troubles.outage is not None:
        found.append((troubles.outage, "the portal of the west went down for two hours; its upsizes waited"))
    if troubles.failed is not None:
        message = f"the load test of {FAILING[0]} in the {FAILING[1]} failed; its capacity stayed"
        found.append((troubles.failed, message))
    if troubles.erring is not None and troubles.errors is not None:
        product, region = troubles.erring
        found.append((troubles.errors, f"{product} had errors in the {region}; its shift was held"))
    if troubles.mended is not None:
        found.append((troubles.mended, "its traffic was back; the shift began again after a person looked"))
    approved = [(at, action) for at, what, action, _ in loop.operators.events if what == "approve"]
    if approved:
        found.append((approved[0][0], f"a person approved {len(approved)} actions, the first of them {approved[0][1]}"))
    return [f"{at:%a %H:%M} {text}" for at, text in sorted(found)]
