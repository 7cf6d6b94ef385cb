"""Capacity requests and their phases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from libs.domain.capacity_request import CapacityRequest, CapacityRequestKind, CapacityRequestPhase
from libs.domain.domain_limits import DomainLimit
from libs.domain.page import Page
from libs.domain.reservation import CapacityUnit, ReservationSpec
from libs.reconcile.errors import StaleGeneration
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.store.tables import capacity_requests, jobs, regions, reservations

UNASSESSED = (CapacityRequestPhase.SUBMITTED, CapacityRequestPhase.ASSESSING)
UNDECIDED = (*UNASSESSED, CapacityRequestPhase.AWAITING_APPROVAL)
_table = capacity_requests
_LATEST_FIELDS = ("resources", "affinity_follows", "guest_of", "guest_share", "gbit_per_rru")
"""Fields of a spec that processes of the version before cannot read."""
_SELECT = sa.select(_table, regions.c.name.label("region")).join(regions, regions.c.region_id == _table.c.region_id)


def create_capacity_request(
    tx: Transaction,
    region_id: int,
    *,
    kind: CapacityRequestKind,
    reservation_name: str,
    reservation_id: int | None,
    reservation_generation: int | None,
    owner: str,
    spec: ReservationSpec | None,
    requested_by: str,
    message: str,
    now: datetime,
    given_reason: str | None = None,
) -> CapacityRequest:
    """Create a request in phase submitted, for the reason AwaitingAssessment."""
    values = {
        "region_id": region_id,
        "kind": kind,
        "reservation_name": reservation_name,
        "reservation_id": reservation_id,
        "reservation_generation": reservation_generation,
        "owner": owner,
        "spec": None if spec is None else spec_json(spec),
        "requested_by": requested_by,
        "given_reason": given_reason,
        "phase": CapacityRequestPhase.SUBMITTED,
        "reason": "AwaitingAssessment",
        "message": message,
        "numbers": {},
        "created_at": now,
        "changed_at": now,
    }
    new_id = tx.execute(sa.insert(_table).values(values).returning(_table.c.capacity_request_id)).scalar_one()
    return load_capacity_request(tx, new_id)


def load_capacity_request(tx: Transaction, capacity_request_id: int) -> CapacityRequest:
    """Return one request. Raises NotFound."""
    row = tx.execute(_SELECT.where(_table.c.capacity_request_id == capacity_request_id)).mappings().one_or_none()
    if row is None:
        raise NotFound("capacity request", capacity_request_id)
    return _capacity_request(row)


def list_capacity_requests(
    tx: Transaction,
    *,
    region: str | None = None,
    phase: CapacityRequestPhase | None = None,
    owner: str | None = None,
    reservation: str | None = None,
    before: int | None = None,
    limit: int = 100,
) -> Page[CapacityRequest]:
    """Return a page of requests, latest first. `before` is the last id of the page before."""
    query = _SELECT.order_by(_table.c.capacity_request_id.desc()).limit(limit + 1)
    wanted = {
        regions.c.name: region,
        _table.c.phase: phase,
        _table.c.owner: owner,
        _table.c.reservation_name: reservation,
    }
    query = query.where(*(column == value for column, value in wanted.items() if value is not None))
    if before is not None:
        query = query.where(_table.c.capacity_request_id < before)
    found = [_capacity_request(row) for row in tx.execute(query).mappings()]
    return Page.of(found, limit, lambda request: request.capacity_request_id)


def change_phase(
    tx: Transaction,
    request: CapacityRequest,
    phase: CapacityRequestPhase,
    *,
    reason: str,
    message: str,
    numbers: Mapping[str, object],
    now: datetime,
    reservation_id: int | None = None,
    accepted_generation: int | None = None,
) -> CapacityRequest:
    """Move the request to the phase `phase`, and return the changed request. Raises StaleGeneration unless the stored
    request is still at the generation of `request`.

    reservation_id        the reservation that the request made; None keeps the present value
    accepted_generation   generation of a reservation that was stored as scheduled; None keeps the present value
    """
    values: dict[str, object] = {
        "phase": phase,
        "reason": reason,
        "message": message,
        "numbers": dict(numbers),
        "changed_at": now,
    }
    if reservation_id is not None:
        values["reservation_id"] = reservation_id
    if accepted_generation is not None:
        values |= {"accepted": True, "reservation_generation": accepted_generation}
    return _change(tx, request, values)


def amend_capacity_request(
    tx: Transaction,
    request: CapacityRequest,
    spec: ReservationSpec,
    *,
    given_reason: str | None,
    amended_by: str,
    message: str,
    now: datetime,
) -> CapacityRequest:
    """Give the request another spec and submit it again. Raises StaleGeneration unless the stored request is still at
    the generation of `request`.
    """
    values = {
        "spec": spec_json(spec),
        "given_reason": given_reason,
        "amended_by": sorted({*request.amended_by, amended_by}),
        "phase": CapacityRequestPhase.SUBMITTED,
        "reason": "Amended",
        "message": message,
        "numbers": {},
        "changed_at": now,
    }
    return _change(tx, request, values)


def list_scheduled_requests(tx: Transaction, reservation_id: int) -> tuple[CapacityRequest, ...]:
    """Return the requests that wait for the window of the reservation `reservation_id` to begin."""
    query = _SELECT.where(
        _table.c.reservation_id == reservation_id, _table.c.phase == CapacityRequestPhase.SCHEDULED
    ).order_by(_table.c.capacity_request_id)
    return tuple(_capacity_request(row) for row in tx.execute(query).mappings())


def _change(tx: Transaction, request: CapacityRequest, values: Mapping[str, object]) -> CapacityRequest:
    key = _table.c.capacity_request_id == request.capacity_request_id
    update = sa.update(_table).where(key, _table.c.generation == request.generation).values(values)
    if tx.execute(update).rowcount == 0:
        found = tx.execute(sa.select(_table.c.generation).where(key)).scalar_one_or_none()
        raise StaleGeneration("capacity request", request.capacity_request_id, expected=request.generation, found=found)
    return load_capacity_request(tx, request.capacity_request_id)


def list_unassessed(tx: Transaction, *, job_kind: str, limit: int) -> tuple[tuple[int, str], ...]:
    """Return (id, owner) of the requests to assess that have no job queued or running, oldest first."""
    subject = sa.cast(_table.c.capacity_request_id, sa.Text)
    job = sa.select(jobs.c.job_id).where(
        jobs.c.kind == job_kind, jobs.c.subject == subject, jobs.c.status.in_(("queued", "running"))
    )
    query = sa.select(_table.c.capacity_request_id, _table.c.owner).where(
        _table.c.phase.in_(UNASSESSED), ~sa.exists(job.correlate(_table))
    )
    return tuple(tx.execute(query.order_by(_table.c.capacity_request_id).limit(limit)).tuples())


def list_hopeless(tx: Transaction, *, now: datetime, limit: int) -> tuple[CapacityRequest, ...]:
    """Return requests that wait for an approval that could not help any more, oldest first: their reservation was
    changed or deleted meanwhile, their host was deleted, or their end has passed.
    """
    own, guest_of = _table.c.reservation_id, _table.c.spec["guest_of"].as_string()
    other = reservations.c.generation != _table.c.reservation_generation
    gone = sa.exists().where(reservations.c.reservation_id == own, reservations.c.deleted_at.is_not(None) | other)
    host = sa.exists().where(
        reservations.c.region_id == _table.c.region_id,
        reservations.c.name == guest_of,
        reservations.c.deleted_at.is_(None),
    )
    ends_at = sa.cast(_table.c.spec["ends_at"].as_string(), sa.DateTime(timezone=True))
    hopeless = sa.or_(gone, sa.and_(guest_of.is_not(None), ~host), ends_at <= now)
    query = _SELECT.where(_table.c.phase == CapacityRequestPhase.AWAITING_APPROVAL, hopeless)
    rows = tx.execute(query.order_by(_table.c.capacity_request_id).limit(limit)).mappings()
    return tuple(_capacity_request(row) for row in rows)


def count_undecided(tx: Transaction, region_id: int, owner: str) -> int:
    """Count an owner's undecided requests in a region. Concurrent counts wait until this transaction ends."""
    tx.execute(sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtextextended(owner, region_id))))
    undecided = (_table.c.region_id == region_id, _table.c.owner == owner, _table.c.phase.in_(UNDECIDED))
    return tx.execute(sa.select(sa.func.count()).where(*undecided)).scalar_one()


def _capacity_request(row: sa.RowMapping) -> CapacityRequest:
    fields = {name: row[name] for name in CapacityRequest.__dataclass_fields__}
    return CapacityRequest(
        **fields
        | {
            "kind": CapacityRequestKind(row["kind"]),
            "phase": CapacityRequestPhase(row["phase"]),
            "amended_by": tuple(row["amended_by"]),
            "spec": None if row["spec"] is None else spec_of_json(row["spec"]),
        }
    )


def spec_json(spec: ReservationSpec) -> dict[str, object]:
    """Return a spec as a JSON object, with times in ISO 8601.

    Leave out _LATEST_FIELDS that say nothing, and limits of domains that are not given.
    """
    times = {name: None if at is None else at.isoformat() for name, at in _times(spec).items()}
    fields = {name: value for name, value in asdict(spec).items() if value or name not in _LATEST_FIELDS}
    limits = [{name: value for name, value in one.items() if value is not None} for one in fields["domain_limits"]]
    return {**fields, **times, "domain_limits": limits}


def _times(spec: ReservationSpec) -> dict[str, datetime | None]:
    return {"starts_at": spec.starts_at, "ends_at": spec.ends_at}


def spec_of_json(saved: Mapping[str, object]) -> ReservationSpec:
    """Return a spec from its JSON object, the inverse of spec_json."""
    fields: dict[str, Any] = {**saved, "unit": CapacityUnit(str(saved["unit"]))}
    for name in ("datacenters", "survives_loss_of"):
        fields[name] = tuple(fields.get(name, ()))
    fields["domain_limits"] = tuple(DomainLimit(**limit) for limit in fields.get("domain_limits", ()))
    for name in ("starts_at", "ends_at"):  # requests older than the windows of reservations lack them
        at = saved.get(name)
        fields[name] = None if at is None else datetime.fromisoformat(str(at))
    return ReservationSpec(**fields)
