"""Decide whether a simulation may be applied, and which capacity its application promises. Pure:
services.portal.apply_simulation commits.

Applying a simulation is one way to ask for capacity. services.portal.judge decides on requests by the same rules:
docs/designs/0015-one-home-for-promises.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from libs.domain.approval import ApprovalLimits, Cause
from libs.domain.approval_causes import approval_causes, own_rru_causes
from libs.domain.cost_units import CostTable, held_cost_units, most_cost_units
from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.domain.guest import in_effect
from libs.domain.plan_changes import NONE, PlanChanges
from libs.domain.quota import Quota
from libs.domain.reservation import ROUNDING, Reservation, ReservationSpec
from libs.domain.rru_catalogue import RruCatalogue
from libs.domain.second_person_rule import lacks_second_person
from libs.domain.simulation import SimulatedChange, Simulation, SimulationStatus
from libs.domain.words import cost_units
from libs.plan_check.churn import churn_budget, counted_preemptions
from libs.ras.committable_changes import Settled, Why
from libs.ras.evaluate import coverage_of, short_rru
from libs.ras.simulation_report import SimulationReport
from services.portal.quota_rule import exceeds_quota

_SHOWN_MAX = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a simulation cannot be applied: an HTTP status, a code of libs.web.problems, and a sentence.

    fields    path of a field -> its error
    figures   further members of the problem document
    """

    status: int
    code: str
    detail: str
    fields: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A reservation that the application resizes, or creates if `before` is None. `row` is the reservation's row in the
    imagined snapshot.
    """

    row: int
    name: str
    owner: str
    spec: ReservationSpec
    before: Reservation | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Application:
    """A simulation to apply, and all data that decide whether it may be applied.

    imagined    the imagined region, with the simulation's targets in `plan`
    quotas      owner -> the owner's quota, in which the reservations to decide on do not count
    costs, catalogue   cost units of the region, under the simulation's policy, and its RRU catalogue
    foreseen_short_rru   reservation -> RRU that the reservation lacks with the simulation's answer, as the simulation
                         said
    foreseen_over   servers in use that the answer preempted beyond the churn budget to repair promises, as the
                    simulation said
    churn_until     when the oldest preemption that the churn budget counts stops counting; None: no such time is known
    reason      reason that the operator `actor` gave; None: not given
    ends   the roll-out of a policy that a change of the policy would end
    person, asked_by   the person behind `actor`, and the persons who asked for the simulation
    """

    simulation: Simulation
    imagined: FleetSnapshot
    plan: TargetPlan
    decisions: Sequence[Decision]
    quotas: Mapping[str, Quota]
    costs: CostTable
    catalogue: RruCatalogue
    limits: ApprovalLimits
    foreseen_short_rru: Mapping[str, float]
    foreseen_over: int
    churn_until: datetime | None
    ends: tuple[Cause, ...]
    actor: str
    person: str
    asked_by: Collection[str]
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The result if the simulation may be applied. `causes` are the approval limits that it exceeds. `short_rru` is the
    RRU that each decision lacks for now.
    """

    causes: tuple[Cause, ...]
    short_rru: tuple[float, ...]


def refuse_for_good(simulation: Simulation, report: SimulationReport | None) -> Refusal | None:
    """Return the reason why the simulation can never be applied; None if there is no such reason."""
    number = simulation.simulation_id
    if simulation.applied_at is not None:
        return _wrong_phase(f"Simulation {number} was applied by {simulation.applied_by} already.")
    if simulation.status is not SimulationStatus.DONE or report is None:
        return _wrong_phase(f"Only a simulation that is done can be applied; {number} is {simulation.status}.")
    others = simulation.what_if.not_decisions
    if others:
        message = "is nothing that a plan brings about: leave it out, and apply the rest"
        return Refusal(
            status=409,
            code="not_a_decision",
            detail=f"Simulation {number} imagines {', '.join(others)}: no plan brings that about. Apply the rest.",
            fields={f"what_if.{name}": message for name in others},
        )
    if report.refused:
        why = "; ".join(f"{one.reservation} ({one.reason}): {one.message}" for one in report.refused[:_SHOWN_MAX])
        detail = f"No state of the region could meet what it asks. {why}"
        return Refusal(status=409, code="not_a_decision", detail=detail)
    return None


def refuse_changed_servers(fleet: FleetSnapshot, changes: Sequence[SimulatedChange]) -> Refusal | None:
    """Return the refusal that names the servers that the simulation binds elsewhere and that changed since. Return None
    if no server changed.

    fleet   the present region. A server that retires there may get no new target
    """
    row_of = {int(server_id): row for row, server_id in enumerate(fleet.servers.id)}
    names = []
    for change in changes:
        row = row_of.get(change.server_id)
        if (
            row is None
            or int(fleet.servers.generation[row]) != change.generation
            or (change.to_reservation is not None and fleet.servers.leaving[row])
        ):
            names.append("a server that is gone" if row is None else str(fleet.servers.name[row]))
    return stale(servers_in_words(names)) if names else None


def refuse_moved(simulation: Simulation, found: Mapping[str, str]) -> Refusal | None:
    """Return the refusal that names what the simulation's answer depends on and what has changed since. Return None if
    nothing has changed.

    found   `rests_on` of the present region
    """
    was = simulation.rests_on or {}
    moved = sorted(name for name in was.keys() | found.keys() if was.get(name) != found.get(name))
    return stale(", ".join(moved[:_SHOWN_MAX])) if moved else None


def refuse_unsound(fleet: FleetSnapshot, changes: PlanChanges, settled: Settled) -> Refusal | None:
    """Return why not all changes of the plan may be committed now; None if all may. The arguments must be read under
    the locks of lock_plan.
    """
    overtaken = ~settled.kept & (settled.because == NONE)
    if overtaken.any():
        return stale(servers_in_words([str(fleet.servers.name[row]) for row in changes.row[overtaken]]))
    over = np.unique(settled.because[~settled.kept & (settled.why == Why.QUOTA)])
    if len(over):
        return outgrown(f"the quota of the owner of {changes.touched.name[over[0]]} has no room for its servers")
    worse = np.unique(settled.because[~settled.kept])
    if len(worse):
        names = ", ".join(str(name) for name in changes.touched.name[worse[:_SHOWN_MAX]])
        more = f" and {len(worse) - _SHOWN_MAX} more" if len(worse) > _SHOWN_MAX else ""
        return outgrown(f"its moves would leave {names}{more} with less than asked for")
    return None


def servers_in_words(names: Sequence[str]) -> str:
    """Return a phrase with the first few of `names`, the servers that a simulation binds elsewhere."""
    more = f" and {len(names) - _SHOWN_MAX} more" if len(names) > _SHOWN_MAX else ""
    return f"{', '.join(names[:_SHOWN_MAX])}{more} of the servers that it binds elsewhere"


def stale(what: str) -> Refusal:
    """Return the refusal of a simulation because `what` changed."""
    detail = f"Since the simulation read the region {what} changed. Simulate again."
    return Refusal(status=409, code="stale_plan", detail=detail)


def outgrown(why: str) -> Refusal:
    """Return the refusal of a simulation because its answer no longer fits the region."""
    detail = f"The region changed since the simulation read it: {why}. Simulate again."
    return Refusal(status=409, code="stale_plan", detail=detail)


def rows_resized(before: FleetSnapshot, imagined: FleetSnapshot) -> list[int]:
    """Return the rows of reservations whose capacity the what-if changes."""
    old, new = before.reservations.capacity_rru, imagined.reservations.capacity_rru
    return [int(row) for row in np.flatnonzero(new[: len(old)] != old)]


def decide(simulation: Simulation, imagined: FleetSnapshot, resized: Mapping[int, Reservation]) -> list[Decision]:
    """Return a decision for each reservation that the application resizes, then for each that it creates, in the order
    of rows.

    resized   row -> the present reservation, for each of rows_resized
    """
    q = imagined.reservations
    decisions = [
        Decision(
            row=row,
            name=is_now.name,
            owner=is_now.owner,
            spec=replace(is_now.spec, capacity_rru=float(q.capacity_rru[row])),
            before=is_now,
        )
        for row, is_now in sorted(resized.items())
    ]
    created = {one.name: one for one in simulation.what_if.create}
    for row in range(len(q) - len(created), len(q)):
        one = created[str(q.name[row])]
        decisions.append(Decision(row=row, name=one.name, owner=one.owner, spec=one.spec, before=None))
    return decisions


def plan_of(imagined: FleetSnapshot, changes: Sequence[SimulatedChange]) -> TargetPlan:
    """Return the present targets with the simulation's changes."""
    row_of_server = {int(server_id): row for row, server_id in enumerate(imagined.servers.id)}
    row_of_name = {str(name): row for row, name in enumerate(imagined.reservations.name)}
    target = np.maximum(imagined.servers.target, FREE)
    for change in changes:
        to = FREE if change.to_reservation is None else row_of_name[change.to_reservation]
        target[row_of_server[change.server_id]] = to
    return TargetPlan(target=target, parent_plan_id=imagined.target_plan_id)


def owners_in(decisions: Sequence[Decision]) -> dict[str, list[str]]:
    """Return the owners of the decided reservations, in order, with the names of these reservations."""
    owners = sorted({one.owner for one in decisions})
    return {owner: [one.name for one in decisions if one.owner == owner] for owner in owners}


def judge_application(application: Application) -> Refusal | Applied:
    """Decide on an application by the rules for capacity requests. The decision depends only on `application`."""
    over = _over_quota(application)
    if over is not None:
        return over
    covered = coverage_of(application.imagined, application.plan.target)
    causes = tuple(
        cause
        for one in application.decisions
        for cause in (
            *own_rru_causes(one.spec, one.before, application.catalogue),
            *approval_causes(
                application.imagined,
                one.row,
                _in_effect(application, one),
                None if one.before is None else replace(one.before, spec=_in_effect(application, one.before)),
                application.plan.target,
                float(covered.shortfall[one.row]),
                application.limits,
                application.costs,
                0.0 if one.before is None else most_cost_units(_in_effect(application, one.before), application.costs),
                _counted_cost_units(application, one),
            ),
        )
    )
    if application.simulation.what_if.policy and application.limits.policy_prices:
        message = "the prices of the region's policy would change"
        causes += (Cause(reason="PolicyPrice", message=message, numbers={}), *application.ends)
    lacked = short_rru(application.imagined, covered)
    for one in application.decisions:
        foreseen = application.foreseen_short_rru.get(one.name, 0.0)
        if lacked[one.row] > foreseen + ROUNDING * one.spec.capacity_rru:
            why = f"{one.name} would be short of {lacked[one.row]:.4g} RRU, and the simulation said {foreseen:.4g}"
            return outgrown(why)
    return (
        _over_churn_budget(application)
        or _unapproved(application, causes)
        or Applied(causes=causes, short_rru=tuple(float(lacked[one.row]) for one in application.decisions))
    )


def _over_quota(application: Application) -> Refusal | None:
    for owner, quota in application.quotas.items():
        asked, had = _asked_cost_units(application, owner), quota.own_cost_units
        if quota.limit_cost_units is not None and exceeds_quota(quota, asked=asked, had=had):
            detail = (
                f"{owner} may have {cost_units(quota.limit_cost_units)} in {quota.region}: "
                f"{quota.used_cost_units + had:g} are in use, {quota.pending_cost_units:g} are in requests, and this "
                f"adds {asked - had:g}. Simulate less, or set a larger quota first."
            )
            return Refusal(status=409, code="quota_exceeded", detail=detail, figures={"owner": owner})
    return None


def _over_churn_budget(application: Application) -> Refusal | None:
    """Return the refusal of preemptions that the churn budget no longer allows.

    The simulation exceeded the budget for repairs alone. Only another solve can tell whether the rest repairs anything.
    The budget is that of the policy that the application sets.
    """
    budget = churn_budget(application.imagined)
    if budget is None:
        return None
    counted = counted_preemptions(application.imagined, application.plan.target)
    if budget.exceeded_by(counted) <= application.foreseen_over:
        return None
    until = application.churn_until
    later = "" if until is None else f" The oldest of them counts until {until.astimezone(UTC):%Y-%m-%d %H:%M} UTC."
    of_each = np.flatnonzero(counted > budget.reservation)
    names = application.imagined.reservations.name[of_each[:_SHOWN_MAX]]
    lacks = "".join(f", {budget.reservation[row]} in {name}" for row, name in zip(of_each, names, strict=False))
    detail = (
        f"It would preempt {int(counted.sum())} servers in use, and the churn budget has {budget.region} left in "
        f"{application.simulation.region}{lacks}: {budget.used} count for the last 24 hours.{later} "
        "Simulate again for a plan within the budget, or apply this one later."
    )
    return Refusal(status=409, code="churn_budget", detail=detail)


def _unapproved(application: Application, causes: Sequence[Cause]) -> Refusal | None:
    """Return the refusal for a missing approval; None if the operator may approve all exceeded limits by applying."""
    if not causes:
        return None
    simulation = application.simulation
    why = "; ".join(cause.message for cause in causes[:_SHOWN_MAX])
    if lacks_second_person(application.limits, application.asked_by, application.person):
        detail = f"{application.person} asked for this; in {simulation.region} another person must apply it: {why}."
        return Refusal(status=403, code="four_eyes", detail=detail, figures={"asked_by": [simulation.requested_by]})
    if application.reason is None:
        detail = f"Above the approval limits: {why}. Applying approves it: give a reason."
        return Refusal(status=409, code="needs_approval", detail=detail)
    return None


def _asked_cost_units(application: Application, owner: str) -> float:
    """Return what the decided reservations of an owner would count toward its quota."""
    return sum(_counted_cost_units(application, one) for one in application.decisions if one.owner == owner)


def _counted_cost_units(application: Application, one: Decision) -> float:
    """Return what a decided reservation would count toward a quota."""
    imagined, target, costs = application.imagined, application.plan.target, application.costs
    return max(most_cost_units(_in_effect(application, one), costs), held_cost_units(imagined, one.row, target, costs))


def _in_effect(application: Application, one: Decision | Reservation) -> ReservationSpec:
    """Return the spec of a reservation with the resources that stand for its guests."""
    return in_effect(one.spec, [guest for guest in application.imagined.guests if guest.host == one.name])


def _wrong_phase(detail: str) -> Refusal:
    return Refusal(status=409, code="wrong_phase", detail=detail)
