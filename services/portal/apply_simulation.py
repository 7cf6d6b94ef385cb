"""Apply the decisions and the plan of a simulation in one transaction, if its basis has not changed.

services.portal.application decides. This module loads, locks and commits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from libs.domain.capacity_request import CapacityRequestKind, CapacityRequestPhase
from libs.domain.fleet import FleetSnapshot, TargetPlan
from libs.domain.plan import PlanKind
from libs.domain.policy_rollout import ended_by_policy
from libs.domain.reservation import Reservation
from libs.domain.simulation import SimulatedChange, Simulation, rests_on
from libs.domain.waves import MovingState
from libs.domain.what_if import ImpossibleWhatIf, UnknownName, imagine
from libs.plan_check.check import require_clean
from libs.plan_check.churn import counted_servers
from libs.plan_check.committed import check_committed
from libs.plan_check.regression import planned_shortfall_rru
from libs.ras.arrival_bounds import settle_within
from libs.ras.findings import findings_of, found_ids
from libs.ras.power_bounds import PowerBound
from libs.ras.quota_bounds import QuotaBound
from libs.ras.simulation_report import SimulationReport, report_of_json
from libs.ras.waves.report import foretell
from libs.reconcile.errors import Overtaken
from libs.store.capacity.approval_limits import load_approval_limits
from libs.store.capacity.capacity_requests import change_phase, create_capacity_request
from libs.store.capacity.cost_units import load_cost_table
from libs.store.capacity.coverage import load_coverage
from libs.store.capacity.findings import record_findings
from libs.store.capacity.plan_changes import load_plan_changes
from libs.store.capacity.quotas import load_bounds, load_quota, lock_limits
from libs.store.capacity.reservations import create_reservation, load_owners, load_reservation, update_spec
from libs.store.fleet.policy_rollouts import load_latest_rollout
from libs.store.fleet.power_limits import load_power_bounds
from libs.store.fleet.present_classes import load_catalogue
from libs.store.fleet.regions import load_region
from libs.store.fleet.servers import load_free_servers
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.moves.churn import load_churn_until, with_churn
from libs.store.moves.exceptions import settle_exceptions
from libs.store.moves.foretold_loans import settle_foretold_loans
from libs.store.moves.moving_state import load_moving_state
from libs.store.plans.plans import commit_plan, lock_lineage, lock_plan
from libs.store.plans.simulations import load_simulated_changes, load_simulation, mark_applied
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.tokens import load_persons
from libs.store.regions.region_policies import update_policy
from libs.web.problems import FieldError, Problem
from services.portal.application import (
    Application,
    Applied,
    Decision,
    Refusal,
    decide,
    judge_application,
    outgrown,
    owners_in,
    plan_of,
    refuse_changed_servers,
    refuse_for_good,
    refuse_moved,
    refuse_unsound,
    rows_resized,
    stale,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The ground of an application: the region's generation and fleet, read at one moment before the simulation is
    applied.

    owners       reservation -> owner
    churn_until  when the oldest preemption that the churn budget counts stops counting; None: no such time is known
    moving       the state that the waves of the plan rest on
    """

    region_id: int
    generation: int
    fleet: FleetSnapshot
    owners: Mapping[str, str]
    churn_until: datetime | None
    moving: MovingState


def load_ground(tx: Transaction, simulation_id: int, *, now: datetime) -> Ground:
    """Load the ground for applying the simulation. `tx` must come from Database.snapshot(). Raises NotFound."""
    region = load_region(tx, load_simulation(tx, simulation_id).region)
    return Ground(
        region_id=region.region_id,
        generation=region.generation,
        fleet=with_churn(tx, load_fleet_snapshot(tx, region.name), now=now),
        owners=load_owners(tx, region.name),
        churn_until=load_churn_until(tx, region.region_id, now=now),
        moving=load_moving_state(tx, region.name),
    )


def apply_simulation(
    tx: Transaction, ground: Ground, simulation_id: int, *, actor: str, reason: str | None, now: datetime
) -> Simulation:
    """Apply the simulation in `tx` if the region is still as in `ground`. Return the applied simulation.

    Raises NotFound, StalePlan, StaleGeneration, and Problem. Nothing is stored then.

    - 409: the simulation is not done, or was applied already.
    - 409: it contains events, or capacity that no state of the region could meet, or exceeds a quota.
    - 409: it preempts more servers in use than the churn budget has left, and than the simulation said.
    - 409: it needs an approval and no `reason` is given, or its basis has changed.
    - 403: another person must approve it.

    StalePlan and StaleGeneration mean that the region changed during this call.
    """
    simulation, before = load_simulation(tx, simulation_id), ground.fleet
    report = None if simulation.report is None else report_of_json(simulation.report)
    _raise(refuse_for_good(simulation, report))
    changes = load_simulated_changes(tx, simulation_id)
    _raise(refuse_changed_servers(before, changes))
    imagined, plan = _imagine(ground, simulation, changes)
    _raise(refuse_moved(simulation, rests_on(before, imagined, plan.target)))
    # From here on under locks, in the order of an assessment: the region, the quotas, the reservations, the servers.
    lock_lineage(tx, ground.region_id, simulation.region, before.target_plan_id)
    lock_limits(tx, ground.region_id)
    if load_region(tx, simulation.region).generation != ground.generation:
        _raise(stale("the policy"))
    decisions = decide(simulation, imagined, _load_resized(tx, before, imagined))
    application = Application(
        simulation=simulation,
        imagined=imagined,
        plan=plan,
        decisions=decisions,
        quotas={
            owner: load_quota(tx, simulation.region, owner, except_names=names, lock=True)
            for owner, names in owners_in(decisions).items()
        },
        costs=replace(
            load_cost_table(tx, load_region(tx, simulation.region)),
            affinity_tolerance=imagined.policy.affinity_tolerance,
        ),
        catalogue=load_catalogue(tx, ground.region_id),
        limits=load_approval_limits(tx, ground.region_id),
        foreseen_short_rru=_foreseen(report),
        foreseen_over=_foreseen_over(report),
        churn_until=ground.churn_until,
        ends=ended_by_policy(load_latest_rollout(tx, ground.region_id)),
        actor=actor,
        person=next(iter(load_persons(tx, [actor]))),
        asked_by=load_persons(tx, [simulation.requested_by]),
        reason=reason,
    )
    judged = judge_application(application)
    if isinstance(judged, Refusal):
        raise _problem(judged)
    return _commit(tx, ground, application, judged, now=now)


def _imagine(
    ground: Ground, simulation: Simulation, changes: Sequence[SimulatedChange]
) -> tuple[FleetSnapshot, TargetPlan]:
    """Return the region with the simulation's what-if, and the simulation's answer. Raises Problem (409) if the what-if
    no longer fits the region.
    """
    try:
        imagined = imagine(ground.fleet, simulation.what_if, ground.owners)
        return imagined, plan_of(imagined, changes)
    except (UnknownName, ImpossibleWhatIf) as error:
        raise _problem(outgrown(str(error))) from error
    except KeyError as error:
        raise _problem(stale(f"the reservation {error.args[0]}")) from error


def _foreseen(report: SimulationReport | None) -> dict[str, float]:
    rows = () if report is None else report.difference.reservations or ()
    return {row.reservation: row.short_rru_after for row in rows}


def _foreseen_over(report: SimulationReport | None) -> int:
    return 0 if report is None else int(report.solve.get("churn", {}).get("over", 0))


def _load_resized(tx: Transaction, before: FleetSnapshot, imagined: FleetSnapshot) -> dict[int, Reservation]:
    """Return row -> stored reservation, for the reservations that the what-if resizes. Raises Problem (409) if a
    reservation differs from `before`.
    """
    rows = rows_resized(before, imagined)
    found = {row: load_reservation(tx, int(before.reservations.id[row])) for row in rows}
    if any(one.generation != int(before.reservations.generation[row]) for row, one in found.items()):
        _raise(stale("the reservations"))
    return found


def _commit(tx: Transaction, ground: Ground, application: Application, judged: Applied, *, now: datetime) -> Simulation:
    """Write the policy, the reservations, the plan, the findings and the audit trail."""
    simulation, actor, reason = application.simulation, application.actor, application.reason
    if simulation.what_if.policy:
        policy = replace(ground.fleet.policy, **simulation.what_if.policy)
        update_policy(tx, simulation.region, policy, generation=ground.generation, actor=actor, reason=reason, now=now)
    stored = [
        _promise(tx, ground.region_id, application, one, short_rru, now=now)
        for one, short_rru in zip(application.decisions, judged.short_rru, strict=True)
    ]
    snapshot = _as_stored(application.imagined, application.decisions, stored)
    parent = ground.fleet.target_plan_id
    _require_sound(tx, snapshot, application.plan, parent=parent)
    committed = commit_plan(
        tx,
        snapshot,
        application.plan,
        kind=PlanKind.SOLVE,
        now=now,
        parent=parent,
        churns=counted_servers(snapshot, application.plan.target),
    )
    waves = foretell(snapshot, application.plan.target, ground.moving)
    settle_foretold_loans(tx, ground.region_id, waves.loans)
    settle_exceptions(
        tx,
        ground.region_id,
        waves.exceptions,
        plan_id=parent if committed is None else committed.plan_id,
        actor=actor,
        reason=reason,
        now=now,
    )
    coverage = load_coverage(tx, found_ids(snapshot), "target")
    free = load_free_servers(tx, ground.region_id)
    findings = findings_of(snapshot, application.plan.target, free, coverage)
    record_findings(tx, ground.region_id, findings, now=now)
    plan_id, number = None if committed is None else committed.plan_id, simulation.simulation_id
    if not mark_applied(tx, number, plan_id=plan_id, applied_by=actor, now=now):
        raise Problem(409, "wrong_phase", f"Simulation {number} was applied by another request just now.")
    audit.append(
        tx,
        actor=actor,
        action="apply",
        subject_kind="simulation",
        subject_id=number,
        now=now,
        after={
            "plan_id": plan_id,
            "what_if": simulation.what_if.as_dict(),
            "causes": [asdict(cause) for cause in judged.causes],
        },
        reason=reason,
    )
    return load_simulation(tx, number)


def _require_sound(tx: Transaction, snapshot: FleetSnapshot, plan: TargetPlan, *, parent: int | None) -> None:
    """Lock the rows that the plan changes, and check every change against the present region. Raises StalePlan, Problem
    (409).
    """
    lock_plan(tx, snapshot, plan, parent=parent)
    changes = load_plan_changes(tx, snapshot, plan)
    planned = planned_shortfall_rru(snapshot, plan.target)[changes.touched.row]
    region_id = load_region(tx, snapshot.region).region_id
    power = load_power_bounds(tx, region_id, snapshot, changes.row, plan.target[changes.row])
    bounds = QuotaBound(load_bounds(tx, snapshot, changes)), PowerBound(power)
    settled = settle_within(changes, snapshot.policy, planned, bounds)
    _raise(refuse_unsound(snapshot, changes, settled))
    require_clean(check_committed(changes, settled.kept, snapshot.policy, planned, power))


def _promise(
    tx: Transaction, region_id: int, application: Application, one: Decision, short_rru: float, *, now: datetime
) -> tuple[int, int]:
    """Resize or create a reservation, with a capacity request as the trail. Return its id and generation."""
    try:
        reservation_id, generation = _put_reservation(tx, region_id, one, now=now)
    except Overtaken as error:
        raise _problem(outgrown(str(error))) from error
    request = create_capacity_request(
        tx,
        region_id,
        kind=CapacityRequestKind.CREATE if one.before is None else CapacityRequestKind.RESIZE,
        reservation_name=one.name,
        reservation_id=None if one.before is None else reservation_id,
        reservation_generation=None if one.before is None else one.before.generation,
        owner=one.owner,
        spec=one.spec,
        requested_by=application.actor,
        given_reason=application.reason,
        message="",
        now=now,
    )
    number = application.simulation.simulation_id
    change_phase(
        tx,
        request,
        CapacityRequestPhase.DEGRADED if short_rru else CapacityRequestPhase.GRANTED,
        reason="SimulationApplied",
        message=f"{application.actor} applied simulation {number}"
        + (f"; it is short of {short_rru:.4g} RRU for now." if short_rru else "."),
        numbers={"simulation_id": number, "short_rru": short_rru},
        now=now,
        reservation_id=reservation_id,
    )
    return reservation_id, generation


def _put_reservation(tx: Transaction, region_id: int, one: Decision, *, now: datetime) -> tuple[int, int]:
    if one.before is None:
        return create_reservation(tx, region_id, name=one.name, owner=one.owner, spec=one.spec, now=now), 1
    reservation_id = one.before.reservation_id
    return reservation_id, update_spec(tx, reservation_id, one.spec, generation=one.before.generation)


def _as_stored(
    imagined: FleetSnapshot, decisions: Sequence[Decision], stored: Sequence[tuple[int, int]]
) -> FleetSnapshot:
    """Return the snapshot with the present ids and generations of the decided reservations."""
    q = imagined.reservations
    ids, generations = q.id.copy(), q.generation.copy()
    for one, (reservation_id, generation) in zip(decisions, stored, strict=True):
        ids[one.row], generations[one.row] = reservation_id, generation
    return replace(imagined, reservations=replace(q, id=ids, generation=generations))


def _raise(refusal: Refusal | None) -> None:
    if refusal is not None:
        raise _problem(refusal)


def _problem(refusal: Refusal) -> Problem:
    errors = [
        FieldError(field=name, location="body", code=refusal.code, message=message)
        for name, message in refusal.fields.items()
    ]
    return Problem(refusal.status, refusal.code, refusal.detail, errors=errors, **refusal.figures)
