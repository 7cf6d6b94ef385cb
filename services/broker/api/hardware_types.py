"""`/v1/hardware-types`: kinds of servers and the figures that their makers published."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response
from pydantic import ConfigDict, Field, StringConstraints

from libs.domain.principal import Role
from libs.store.fleet.hardware_types import list_hardware_types, load_hardware_type, put_attributes, put_cost_units
from libs.store.platform.database import Transaction
from libs.web import patterns
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import Flag, Name, Number, PageOf, RequestModel, ResponseModel, SomeName
from libs.web.openapi import headers, problems
from libs.web.reasons import GivenReason

router = APIRouter(prefix="/v1/hardware-types", tags=["hardware types"])
_NOUN = "hardware-types"
TypeName = Annotated[SomeName, Path(description="Name of the hardware type")]
Text = Annotated[str, StringConstraints(pattern=patterns.LINE_OR_NONE, max_length=200)]


class HardwareTypeOut(ResponseModel):
    """A kind of server. All regions share it."""

    hardware_type_id: int
    name: str
    attributes: dict[str, object] = Field(examples=[{"vcpu": 96, "memory_gb": 384, "watts": 410}])
    cost_units: float | None = Field(
        description="Count of one server toward quotas and approval limits. null: not set, and it counts the type's "
        "mean RRU over all classes of the region's catalogue, or 1 without a catalogue"
    )
    generation: int


class HardwareTypeIn(RequestModel):
    """The known attributes of a hardware type. They replace the earlier ones."""

    attributes: dict[Name, Flag | Number | Text] = Field(max_length=100, examples=[{"vcpu": 96, "watts": 410}])


class CostUnitsIn(RequestModel):
    """The count of one server of a hardware type toward quotas and approval limits."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"cost_units": 1.6, "reason": "prices of 2027"}]})
    cost_units: Annotated[Number, Field(gt=0, le=1e6)] | None = Field(description="null: the default")
    reason: GivenReason | None = Field(default=None, description="Why, for the audit trail")


@router.get("", operation_id="list_hardware_types")
def get_hardware_types(context: Context, paging: Paging) -> PageOf[HardwareTypeOut]:
    """List hardware types in the order of their creation."""
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_hardware_types(tx, after=after, limit=paging.limit)
    items = [HardwareTypeOut.model_validate(hardware_type) for hardware_type in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get(
    "/{hardware_type}",
    operation_id="get_hardware_type",
    responses={200: {"headers": headers("ETag")}, **problems(404)},
)
def get_hardware_type(hardware_type: TypeName, context: Context, response: Response) -> HardwareTypeOut:
    """Return one hardware type."""
    with context.database.snapshot() as tx:
        found = load_hardware_type(tx, hardware_type)
    response.headers.update(etag(found.generation))
    return HardwareTypeOut.model_validate(found)


@router.put(
    "/{hardware_type}",
    operation_id="put_hardware_type",
    response_model=HardwareTypeOut,
    dependencies=[Depends(require(Role.OPERATOR))],
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def put_hardware_type(
    hardware_type: TypeName,
    body: HardwareTypeIn,
    write: Write,
    expected: ExpectedGeneration,
    principal: Asking,
    context: Context,
) -> Response:
    """Replace the attributes of a hardware type. An import of a region creates the types themselves."""

    def effect(tx: Transaction) -> Answer:
        now, actor = context.clock.now(), principal.name
        after = put_attributes(tx, hardware_type, body.attributes, generation=expected, actor=actor, now=now)
        return Answer(200, HardwareTypeOut.model_validate(after), etag(after.generation))

    return write.once(effect)


@router.put(
    "/{hardware_type}/cost-units",
    operation_id="put_cost_units",
    response_model=HardwareTypeOut,
    dependencies=[Depends(require(Role.OPERATOR))],
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def set_cost_units(
    hardware_type: TypeName,
    body: CostUnitsIn,
    write: Write,
    expected: ExpectedGeneration,
    principal: Asking,
    context: Context,
) -> Response:
    """Set what a server of this type counts toward quotas and approval limits, in all regions.

    Later decisions use the new count. An owner that exceeds its quota by the new count keeps its servers.
    """

    def effect(tx: Transaction) -> Answer:
        now, actor = context.clock.now(), principal.name
        after = put_cost_units(
            tx, hardware_type, body.cost_units, generation=expected, actor=actor, reason=body.reason, now=now
        )
        return Answer(200, HardwareTypeOut.model_validate(after), etag(after.generation))

    return write.once(effect)
