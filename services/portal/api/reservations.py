"""`/v1/reservations`: present reservations, with shorthands for the requests that change them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import ConfigDict, Field

from libs.domain.principal import Role
from libs.domain.reservation import ReservationKind
from libs.domain.reservation_order import RESERVATION_ORDERS
from libs.domain.reservation_phase import ReservationPhase
from libs.store.capacity.readiness_history import load_readiness_histories
from libs.store.capacity.reservation_lists import ReservationFilter, list_ordered_reservations, list_reservations
from libs.store.capacity.reservation_servers import count_servers
from libs.store.capacity.reservations import load_reservation
from libs.store.capacity.ungranted import load_waiting
from libs.store.fleet.motions import load_motions
from libs.store.platform.database import Transaction
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import OrderedPaging, next_cursor
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, Name, Owner, PageOf, RequestModel, SomeName
from libs.web.openapi import headers, problems
from libs.web.reasons import GivenReason, ReasonQuery
from libs.web.specs import SpecIn
from services.portal.api.capacity_request_out import CapacityRequestOut
from services.portal.api.capacity_requests import DryRun, answer_submission
from services.portal.api.dry_runs import answer_dry_run
from services.portal.api.reservation_orders import OrderName, cursor_of, place_of
from services.portal.api.reservation_out import ReservationOut, reservation_out
from services.portal.submit_requests import require_region, submit_create, submit_delete, submit_resize

router = APIRouter(prefix="/v1/reservations", tags=["reservations"])
_NOUN = "reservations"
ReservationId = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the reservation")]
_POLLED: dict[int | str, dict[str, Any]] = {
    202: {"headers": headers("ETag", "Location"), "description": "Stored; poll the request at Location"},
    200: {"model": CapacityRequestOut, "description": "The answer to a dry run"},
}


class ReservationIn(RequestModel):
    """A reservation to create."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "region": "west",
                    "name": "batch",
                    "owner": "batch-team",
                    "spec": {"count": 4, "hardware_types": ["hw-a", "hw-b"], "survives_msb_loss": False},
                }
            ]
        }
    )
    region: SomeName
    name: Name = Field(description="Unique among the region's live reservations")
    owner: Owner = Field(description="Who answers for it")
    spec: SpecIn
    reason: GivenReason | None = Field(default=None, description="Why, for the audit trail and for the approver")


class ReservationPatch(RequestModel):
    """A change of a reservation. Omitted fields of the spec stay."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"spec": {"capacity_rru": 9}}]})
    spec: SpecIn
    reason: GivenReason | None = Field(default=None, description="Why, for the audit trail and for the approver")


@router.post(
    "",
    operation_id="create_reservation",
    status_code=202,
    response_model=CapacityRequestOut,
    dependencies=[Depends(require(Role.REQUESTER))],
    responses={**_POLLED, **problems(409)},
)
def create_reservation(
    body: ReservationIn, write: Write, principal: Asking, context: Context, dry_run: DryRun = False
) -> Response:
    """Request a new reservation. Shorthand for a capacity request of kind create."""
    spec = body.spec.to_spec()
    wanted = {"region": body.region, "name": body.name, "owner": body.owner, "name_field": "name"}
    if dry_run:
        with context.database.snapshot() as tx:
            submission = submit_create(tx, **wanted, spec=spec, now=context.clock.now())
        return answer_dry_run(submission, principal=principal, context=context)

    def effect(tx: Transaction) -> Answer:
        submission = submit_create(tx, **wanted, spec=spec, now=context.clock.now())
        return answer_submission(
            tx, submission, given_reason=body.reason, principal=principal, context=context, status_code=202
        )

    return write.once(effect)


@router.get("", operation_id="list_reservations")
def get_reservations(
    context: Context,
    paging: OrderedPaging,
    region: Annotated[SomeName | None, Query(description="Of this region only")] = None,
    owner: Annotated[SomeName | None, Query(description="Of this owner only")] = None,
    name: Annotated[SomeName | None, Query(description="Of this name only")] = None,
    kind: Annotated[ReservationKind | None, Query(description="Of this kind only")] = None,
    phase: Annotated[
        ReservationPhase | None, Query(description="In this phase only; deleted ones are listed only by their phase")
    ] = None,
    short: Annotated[
        bool | None, Query(description="true: only reservations whose targets fall short; false: only the others")
    ] = None,
    order: OrderName = None,
) -> PageOf[ReservationOut]:
    """List reservations in the order of their creation, or in the given one. The list omits server counts by type and
    MSB.
    """
    wanted = ReservationFilter(region=region, owner=owner, name=name, kind=kind, phase=phase, short=short)
    with context.database.snapshot() as tx:
        if region is not None:
            require_region(tx, region, location="query")
        if order is None:
            page = list_reservations(tx, wanted, after=paging.after(_NOUN), limit=paging.limit)
            found, cursor = page.items, next_cursor(_NOUN, page.next_cursor)
        else:
            asked = RESERVATION_ORDERS[order]
            after = place_of(paging, asked)
            found, last = list_ordered_reservations(tx, wanted, asked, after=after, limit=paging.limit)
            cursor = cursor_of(asked, last)
        ids = [one.reservation_id for one in found]
        histories, motions = load_readiness_histories(tx, ids), load_motions(tx, ids)
        waiting = load_waiting(tx, ids)
    items = [
        reservation_out(one, histories[i], motions[i], granted_rru=waiting.get(i))
        for i, one in zip(ids, found, strict=True)
    ]
    return PageOf(items=items, next_cursor=cursor)


@router.get(
    "/{reservation_id}",
    operation_id="get_reservation",
    responses={200: {"headers": headers("ETag")}, **problems(404)},
)
def get_reservation(reservation_id: ReservationId, context: Context, response: Response) -> ReservationOut:
    """Return one reservation, deleted or not: its spec, its status, and its servers by place."""
    with context.database.snapshot() as tx:
        reservation, counts = load_reservation(tx, reservation_id), count_servers(tx, reservation_id)
        history = load_readiness_histories(tx, [reservation_id])[reservation_id]
        motion = load_motions(tx, [reservation_id])[reservation_id]
        granted_rru = load_waiting(tx, [reservation_id]).get(reservation_id)
    response.headers.update(etag(reservation.generation))
    return reservation_out(reservation, history, motion, counts, granted_rru=granted_rru)


@router.patch(
    "/{reservation_id}",
    operation_id="resize_reservation",
    status_code=202,
    response_model=CapacityRequestOut,
    dependencies=[Depends(require(Role.REQUESTER))],
    responses={**_POLLED, **problems(404, 409)},
)
def resize_reservation(
    reservation_id: ReservationId,
    body: ReservationPatch,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
    dry_run: DryRun = False,
) -> Response:
    """Request a change. Shorthand for a capacity request of kind resize. The spec changes when the request is
    accepted.
    """
    if dry_run:
        with context.database.snapshot() as tx:
            reservation = load_reservation(tx, reservation_id)
            spec = body.spec.to_spec(reservation.spec)
            submission = submit_resize(tx, reservation, spec, generation=expected, now=context.clock.now())
        return answer_dry_run(submission, principal=principal, context=context)

    def effect(tx: Transaction) -> Answer:
        reservation = load_reservation(tx, reservation_id)
        spec = body.spec.to_spec(reservation.spec)
        submission = submit_resize(tx, reservation, spec, generation=expected, now=context.clock.now())
        return answer_submission(
            tx, submission, given_reason=body.reason, principal=principal, context=context, status_code=202
        )

    return write.once(effect)


@router.delete(
    "/{reservation_id}",
    operation_id="delete_reservation",
    response_model=CapacityRequestOut,
    dependencies=[Depends(require(Role.REQUESTER))],
    responses={200: {"headers": headers("ETag", "Location"), "description": "Deleted"}, **problems(404, 409)},
)
def delete_reservation(
    reservation_id: ReservationId,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
    reason: ReasonQuery = None,
) -> Response:
    """Return the capacity at once: the answer is a granted request. Only guests block it, which are deleted first."""

    def effect(tx: Transaction) -> Answer:
        submission = submit_delete(tx, load_reservation(tx, reservation_id), generation=expected)
        return answer_submission(
            tx, submission, given_reason=reason, principal=principal, context=context, status_code=200
        )

    return write.once(effect)
