"""Write a plan for a region as text: each reservation's capacity, the changed servers, and the score."""

from collections.abc import Iterator

import numpy as np

from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.ras.evaluate import Coverage, Score, coverage_of, evaluate

TERMS = ("stability", "rack_spread", "msb_spread", "buffer", "surplus", "short", "affinity")


def plan_text(snapshot: FleetSnapshot, plan: TargetPlan) -> str:
    """Return a plan in names and few digits."""
    before = np.maximum(snapshot.servers.target, FREE)
    coverage = coverage_of(snapshot, before), coverage_of(snapshot, plan.target)
    score = evaluate(snapshot, before), evaluate(snapshot, plan.target)
    lines = [*_covered(snapshot, *coverage), "", "servers", *_changes(snapshot, plan)]
    return "\n".join([*lines, "", "cost", *_costs(*score)])


def _covered(snapshot: FleetSnapshot, before: Coverage, after: Coverage) -> Iterator[str]:
    q, msbs = snapshot.reservations, snapshot.topology.msbs
    for r, name in enumerate(q.name):
        yield str(name)
        yield f"  asks {q.capacity_rru[r]:g} RRU" + (" after the loss of an MSB" if q.survives_msb_loss[r] else "")
        yield f"  short of {before.shortfall[r]:g} -> {after.shortfall[r]:g}"
        held = [f"{msb} {before.by_msb[r, m]:g} -> {after.by_msb[r, m]:g}" for m, msb in enumerate(msbs)]
        yield f"  has {', '.join(held)}"


def _changes(snapshot: FleetSnapshot, plan: TargetPlan) -> Iterator[str]:
    servers, topology = snapshot.servers, snapshot.topology
    names = [*snapshot.reservations.name, "deleted", "free"]  # -1 FREE is the last, -2 DELETED the one before
    for s in plan.changes(snapshot):
        state = ["in use" if servers.in_use[s] else "idle"]
        state += ["down"] if not servers.available[s] else []
        place = topology.msbs[topology.rack_msb[servers.rack[s]]]
        move = f"{names[servers.target[s]]} -> {names[plan.target[s]]}"
        yield f"  {servers.name[s]} in {place}, {', '.join(state)}: {move}"


def _costs(before: Score, after: Score) -> Iterator[str]:
    for name in (*TERMS, "total"):
        yield f"  {name} {getattr(before, name):.4g} -> {getattr(after, name):.4g}"
