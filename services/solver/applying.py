"""Make a simulation's answer so: its decisions and its plan in one transaction, if what it rests on still stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime

import numpy as np

from libs.domain.approval_causes import approval_causes
from libs.domain.capacity_request import CapacityRequestKind, CapacityRequestPhase
from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.domain.plan import PlanKind
from libs.domain.reservation import ROUNDING
from libs.domain.simulation import SimulatedChange, Simulation, SimulationStatus, rests_on
from libs.domain.what_if import imagine
from libs.plan_check.check import check_plan, require_clean
from libs.store import audit
from libs.store.approval_limits import load_approval_limits
from libs.store.capacity_requests import change_phase, create_capacity_request
from libs.store.database import Transaction
from libs.store.plans import commit_plan, lock_lineage
from libs.store.regions import load_region, update_policy
from libs.store.reservations import create_reservation, load_reservation, update_spec
from libs.store.simulations import load_owners, load_simulated_changes, load_simulation, mark_applied
from libs.store.snapshot import load_fleet_snapshot
from libs.web.problems import FieldError, Problem
from services.solver.apply_limits import Decision, require_approved, require_within_quotas
from services.solver.findings import record_solve_findings


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What an application rests on, as one moment had it. owners: name of a reservation -> owner."""

    generation: int
    fleet: FleetSnapshot
    owners: Mapping[str, str]


def load_ground(tx: Transaction, simulation_id: int) -> Ground:
    """What applying this simulation would rest on; `tx` is a snapshot. Raises NotFound."""
    region = load_region(tx, load_simulation(tx, simulation_id).region)
    fleet, owners = load_fleet_snapshot(tx, region.name), load_owners(tx, region.name)
    return Ground(generation=region.generation, fleet=fleet, owners=owners)


def apply_simulation(
    tx: Transaction, ground: Ground, simulation_id: int, *, actor: str, reason: str | None, now: datetime
) -> Simulation:
    """The simulation, applied in `tx`, if what it rests on is still as `ground` has it.

    Raises NotFound; Problem 409 where it is not done or was applied, where it imagines what nobody can decide, where no
    state of the region could meet its demand, where a quota forbids it, where it needs an approval and no `reason` is
    given, and where anything that it rests on has changed; 403 where somebody else must approve it; StalePlan and
    StaleGeneration where that happened while this ran. Nothing is kept then.
    """
    simulation = load_simulation(tx, simulation_id)
    require_applicable(simulation)
    region = load_region(tx, simulation.region)
    before = ground.fleet
    lock_lineage(tx, region.region_id, simulation.region, before.target_plan_id)
    if load_region(tx, simulation.region).generation != ground.generation:
        raise _moved("the policy")
    changes = load_simulated_changes(tx, simulation_id)
    _require_unmoved(simulation, before, changes)
    imagined = imagine(before, simulation.what_if, ground.owners)
    decisions = _decisions(tx, simulation, before, imagined)
    require_within_quotas(tx, simulation.region, decisions)
    limits, target, short_rru = (
        load_approval_limits(tx, region.region_id),
        _plan(imagined, changes).target,
        _short(simulation),
    )
    causes = [
        cause
        for one in decisions
        for cause in approval_causes(
            imagined, one.row, one.spec, one.before, target, short_rru.get(one.name, 0.0), limits
        )
    ]
    require_approved(simulation, causes, limits, actor=actor, reason=reason)
    if simulation.what_if.policy:
        policy = replace(before.policy, **simulation.what_if.policy)
        update_policy(tx, simulation.region, policy, generation=ground.generation, actor=actor, reason=reason, now=now)
    ids, generations = _decide(tx, simulation, region.region_id, decisions, actor=actor, reason=reason, now=now)
    snapshot = _as_stored(imagined, ids, generations)
    plan = _plan(snapshot, changes)
    require_clean(check_plan(snapshot, plan))
    committed = commit_plan(tx, snapshot, plan, kind=PlanKind.SOLVE, now=now, parent=before.target_plan_id)
    if committed is not None and committed.left_alone:
        raise _moved(f"{committed.left_alone} of the servers that it binds elsewhere")
    record_solve_findings(tx, snapshot, plan, now=now)
    plan_id = None if committed is None else committed.plan_id
    if not mark_applied(tx, simulation_id, plan_id=plan_id, actor=actor, now=now):
        raise Problem(409, "wrong_phase", f"Simulation {simulation_id} was applied by somebody else just now.")
    audit.append(
        tx,
        actor=actor,
        action="apply",
        subject_kind="simulation",
        subject_id=simulation_id,
        now=now,
        after={
            "plan_id": plan_id,
            "what_if": simulation.what_if.as_dict(),
            "causes": [asdict(cause) for cause in causes],
        },
        reason=reason,
    )
    return load_simulation(tx, simulation_id)


def require_applicable(simulation: Simulation) -> None:
    """Raises Problem (409) for a simulation that can never be applied, or not any more, with what is in the way."""
    number = simulation.simulation_id
    if simulation.applied_at is not None:
        raise Problem(409, "wrong_phase", f"Simulation {number} was applied by {simulation.applied_by} already.")
    if simulation.status is not SimulationStatus.DONE:
        detail = f"Only a simulation that is done can be applied; {number} is {simulation.status}."
        raise Problem(409, "wrong_phase", detail)
    events = simulation.what_if.not_decisions
    if events:
        message = "is an event and not a decision: leave it out, and apply what is left"
        errors = [
            FieldError(field=f"what_if.{name}", location="body", code="not_a_decision", message=message)
            for name in events
        ]
        detail = f"Simulation {number} imagines {', '.join(events)}: that can be simulated, and nobody can apply it."
        raise Problem(409, "not_a_decision", detail, errors=errors)
    refused = (simulation.report or {}).get("refused")
    if isinstance(refused, list) and refused:
        detail = "; ".join(f"{one['reservation']} ({one['reason']}): {one['message']}" for one in refused[:5])
        raise Problem(409, "not_a_decision", f"No state of the region could meet what it asks. {detail}")


def _require_unmoved(simulation: Simulation, before: FleetSnapshot, changes: list[SimulatedChange]) -> None:
    """Raises Problem (409) that says what has changed since the simulation read it."""
    was, found = simulation.rests_on or {}, rests_on(before)
    moved = [name for name, digest in found.items() if was.get(name) != digest]
    if moved:
        raise _moved(", ".join(f"the {name}" for name in moved))
    row_of = {int(server_id): row for row, server_id in enumerate(before.servers.id)}
    touched = [c for c in changes if int(before.servers.generation[row_of[c.server_id]]) != c.generation]
    if touched:
        raise _moved(f"{len(touched)} of the servers that it binds elsewhere")


def _moved(what: str) -> Problem:
    return Problem(409, "stale_plan", f"Since the simulation read the region {what} changed. Simulate again.")


def _decisions(
    tx: Transaction, simulation: Simulation, before: FleetSnapshot, imagined: FleetSnapshot
) -> list[Decision]:
    """What is to be resized, and then what is to be created, in the order of their rows."""
    old, new = before.reservations, imagined.reservations
    found = []
    for row in np.flatnonzero(new.capacity_rru[: len(old)] != old.capacity_rru).tolist():
        is_now = load_reservation(tx, int(old.id[row]))
        if is_now.generation != int(old.generation[row]):
            raise _moved("the reservations")
        spec = replace(is_now.spec, capacity_rru=float(new.capacity_rru[row]))
        found.append(Decision(row=row, name=is_now.name, owner=is_now.owner, spec=spec, before=is_now))
    created = {one.name: one for one in simulation.what_if.create}
    for row in range(len(old), len(new)):
        one = created[str(new.name[row])]
        found.append(Decision(row=row, name=one.name, owner=one.owner, spec=one.spec, before=None))
    return found


def _short(simulation: Simulation) -> dict[str, float]:
    """Reservation -> RRU that the answer leaves it short of; of those that differ."""
    rows = (simulation.report or {}).get("reservations", [])
    return {row["reservation"]: float(row["short_rru_after"]) for row in rows} if isinstance(rows, list) else {}


def _decide(
    tx: Transaction,
    simulation: Simulation,
    region_id: int,
    decisions: Sequence[Decision],
    *,
    actor: str,
    reason: str | None,
    now: datetime,
) -> tuple[Mapping[int, int], Mapping[int, int]]:
    """Resize and create, each with a capacity request as its trail; (row -> id), (row -> generation)."""
    ids: dict[int, int] = {}
    generations: dict[int, int] = {}
    short_rru = _short(simulation)
    for one in decisions:
        if one.before is None:
            reservation_id = create_reservation(tx, region_id, name=one.name, owner=one.owner, spec=one.spec, now=now)
            generation = 1
        else:
            reservation_id = one.before.reservation_id
            generation = update_spec(tx, reservation_id, one.spec, generation=one.before.generation)
        ids[one.row], generations[one.row] = reservation_id, generation
        request = create_capacity_request(
            tx,
            region_id,
            kind=CapacityRequestKind.CREATE if one.before is None else CapacityRequestKind.RESIZE,
            reservation_name=one.name,
            reservation_id=None if one.before is None else reservation_id,
            reservation_generation=None if one.before is None else one.before.generation,
            owner=one.owner,
            spec=one.spec,
            requested_by=actor,
            given_reason=reason,
            message="",
            now=now,
        )
        missing = short_rru.get(one.name, 0.0)
        whole = missing <= ROUNDING * one.spec.capacity_rru
        change_phase(
            tx,
            request,
            CapacityRequestPhase.GRANTED if whole else CapacityRequestPhase.DEGRADED,
            reason="SimulationApplied",
            message=f"{actor} applied simulation {simulation.simulation_id}"
            + ("." if whole else f"; it is short of {missing:.4g} RRU for now."),
            numbers={"simulation_id": simulation.simulation_id, "short_rru": missing},
            now=now,
            reservation_id=reservation_id,
        )
    return ids, generations


def _as_stored(imagined: FleetSnapshot, ids: Mapping[int, int], generations: Mapping[int, int]) -> FleetSnapshot:
    q = imagined.reservations
    stored, at = q.id.copy(), q.generation.copy()
    for row, reservation_id in ids.items():
        stored[row] = reservation_id
    for row, generation in generations.items():
        at[row] = generation
    return replace(imagined, reservations=replace(q, id=stored, generation=at))


def _plan(snapshot: FleetSnapshot, changes: list[SimulatedChange]) -> TargetPlan:
    """The targets as they are with the simulation's changes."""
    row_of_server = {int(server_id): row for row, server_id in enumerate(snapshot.servers.id)}
    row_of_name = {str(name): row for row, name in enumerate(snapshot.reservations.name)}
    target = np.maximum(snapshot.servers.target, FREE)
    for change in changes:
        to = FREE if change.to_reservation is None else row_of_name[change.to_reservation]
        target[row_of_server[change.server_id]] = to
    return TargetPlan(target=target, parent_plan_id=snapshot.target_plan_id)
