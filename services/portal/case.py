"""Load the input of `services.portal.judge`.

A question is a capacity request to decide on, stored or not. A case is a question with all data that decide it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from libs.domain.capacity_request import CapacityRequest
from libs.domain.fleet import FleetSnapshot
from libs.domain.followed_shares import following
from libs.domain.guest import guest_amounts, with_amounts
from libs.store.capacity.approval_limits import load_approval_limits
from libs.store.capacity.approvals import is_approved
from libs.store.capacity.calendar import load_calendar
from libs.store.capacity.cost_units import load_cost_table
from libs.store.capacity.followed_shares import why_not_followed_now
from libs.store.capacity.quotas import load_quota
from libs.store.capacity.reservations import find_reservation, load_reservation
from libs.store.capacity.stacks import load_stack
from libs.store.fleet.present_classes import load_catalogue
from libs.store.fleet.regions import load_region
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.platform.database import Transaction
from services.portal.judge import Case, Question
from services.portal.submit_requests import Submission


def question_of_request(request: CapacityRequest) -> Question:
    """Return the question (the input of a decision) for a stored capacity request. `request` must have a spec."""
    assert request.spec is not None
    return Question(
        capacity_request_id=request.capacity_request_id,
        region=request.region,
        name=request.reservation_name,
        owner=request.owner,
        spec=request.spec,
        reservation_id=request.reservation_id,
        reservation_generation=request.reservation_generation,
        accepted=request.accepted,
    )


def question_of_submission(submission: Submission) -> Question:
    """Return the question (the input of a decision) for a capacity request that is not stored yet, as in a dry run.
    `submission` must have a spec.
    """
    assert submission.spec is not None
    reservation = submission.reservation
    return Question(
        capacity_request_id=None,
        region=submission.region.name,
        name=submission.name,
        owner=submission.owner,
        spec=submission.spec,
        reservation_id=None if reservation is None else reservation.reservation_id,
        reservation_generation=None if reservation is None else reservation.generation,
    )


def load_case(tx: Transaction, question: Question, *, now: datetime, snapshot: FleetSnapshot | None = None) -> Case:
    """Load all data that decide on `question`. `tx` must come from Database.snapshot(), so that all data are of one
    moment. Raises NotFound.

    snapshot   the region, if it is read already
    """
    region = load_region(tx, question.region)
    catalogue = load_catalogue(tx, region.region_id)
    # The catalogue may have changed after the request, and the holdings of another reservation too.
    question = replace(question, spec=question.spec.following(catalogue.classes))
    request_id = question.capacity_request_id
    if snapshot is None:
        snapshot = load_fleet_snapshot(tx, question.region)
    question = replace(question, spec=following(snapshot, question.spec))
    other = question.spec.affinity_follows
    why = None if other is None else why_not_followed_now(tx, region.region_id, question.name, other)
    stack, costs = load_stack(tx, question.region, question.name, question.spec), load_cost_table(tx, region)
    guests = stack.asking(question.name, question.owner, question.spec)
    return Case(
        question=question,
        found=find_reservation(tx, question.region, question.name)
        if question.reservation_id is None
        else load_reservation(tx, question.reservation_id),
        snapshot=snapshot,
        calendar=load_calendar(tx, snapshot, now=now),
        stack=stack,
        quota=load_quota(tx, question.region, question.owner, before=request_id, question=question.asking),
        catalogue=catalogue,
        costs=replace(costs, amounts=with_amounts(costs.amounts, guest_amounts(guests))),
        limits=load_approval_limits(tx, region.region_id),
        approved=request_id is not None and is_approved(tx, request_id),
        not_followed=why,
        now=now,
    )
