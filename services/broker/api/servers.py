"""`/v1/servers`: the place, bindings and use of each server."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import Field

from libs.domain.principal import Role
from libs.domain.unavailability import Unavailability
from libs.store.fleet.servers import InUse, ServerFilter, list_servers, load_server, set_in_use
from libs.store.platform.database import Transaction
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.filters import require_known
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, Flag, PageOf, RequestModel, ResponseModel, SomeName, Whole
from libs.web.openapi import headers, problems
from libs.web.wait_out import ServerWaitOut

router = APIRouter(prefix="/v1/servers", tags=["servers"])
_NOUN = "servers"
_AT_ONCE_MAX = 1000
ServerId = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the server")]
Allocator = Depends(require(Role.ALLOCATOR))


class ServerOut(ResponseModel):
    """A server. A binding is null if the server is free."""

    server_id: int
    region: str
    name: str
    datacenter: str
    msb: str
    rack: str
    domains: dict[str, str] = Field(
        description="Its domain of each further kind, such as network_block; kinds without a place are absent"
    )
    hardware_type: str
    current_reservation: str | None = Field(description="Observed: the reservation that holds it now")
    target_reservation: str | None = Field(description="Decided: the reservation that should hold it")
    in_doubt_reservation: str | None = Field(
        description="The reservation that it may be in: its last step has no known outcome. It counts for none"
    )
    spare_for_reservation: str | None = Field(
        description="The reservation that has it for the time of an exchange, as a spare. Its target does not say so"
    )
    unclean: bool = Field(description="It may hold data of its last reservation. It is cleaned before it joins one")
    in_use: bool = Field(description="Runs containers: costly to move")
    host_profile: str
    unavailability: Unavailability
    generation: int
    decommissioned_at: datetime | None = Field(description="When it left the fleet; null while it is there")
    waits: ServerWaitOut | None = Field(description="Why it may not leave its reservation yet; null: it does not wait")


class ServerPatch(RequestModel):
    """An allocator's report on one server."""

    in_use: Flag


class ServerChange(ServerPatch):
    """An allocator's report on one server of a list."""

    server_id: Whole = Field(ge=1, le=ID_MAX)
    generation: Whole = Field(ge=1, le=ID_MAX, description="The generation that you have read")


class ServersPatch(RequestModel):
    """Reports on several servers, all or nothing."""

    servers: list[ServerChange] = Field(min_length=1, max_length=_AT_ONCE_MAX)


class ServersOut(ResponseModel):
    """The servers after the change, in the order of the request."""

    items: list[ServerOut]


@router.get("", operation_id="list_servers", responses=problems(404))
def get_servers(
    context: Context,
    paging: Paging,
    region: Annotated[SomeName | None, Query(description="Of this region only")] = None,
    name: Annotated[SomeName | None, Query(description="Of this name only")] = None,
    current_reservation: Annotated[
        SomeName | None,
        Query(description="Bound now to this reservation, deleted or not, or to the host of this guest"),
    ] = None,
    target_reservation: Annotated[
        SomeName | None, Query(description="With this live reservation as target, or the host of this guest")
    ] = None,
    msb: Annotated[SomeName | None, Query(description="In this MSB only")] = None,
    rack: Annotated[SomeName | None, Query(description="In this rack only")] = None,
    hardware_type: Annotated[SomeName | None, Query(description="Of this hardware type only")] = None,
    unavailability: Annotated[Unavailability | None, Query(description="With this unavailability only")] = None,
    decommissioned: Annotated[bool, Query(description="true: only servers that have left the fleet")] = False,
) -> PageOf[ServerOut]:
    """List servers by id. A server must pass all filters."""
    after = paging.after(_NOUN)
    chosen = ServerFilter(
        name=name,
        current_reservation=current_reservation,
        target_reservation=target_reservation,
        msb=msb,
        rack=rack,
        hardware_type=hardware_type,
        unavailability=unavailability,
        decommissioned=decommissioned,
    )
    with context.database.snapshot() as tx:
        page = list_servers(tx, region, chosen, after=after, limit=paging.limit)
        require_known(
            tx,
            page.items,
            region,
            current_reservation=current_reservation,
            target_reservation=target_reservation,
            msb=msb,
            rack=rack,
            hardware_type=hardware_type,
        )
    items = [ServerOut.model_validate(server) for server in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get("/{server_id}", operation_id="get_server", responses={200: {"headers": headers("ETag")}, **problems(404)})
def get_server(server_id: ServerId, context: Context, response: Response) -> ServerOut:
    """Return one server."""
    with context.database.snapshot() as tx:
        server = load_server(tx, server_id)
    response.headers.update(etag(server.generation))
    return ServerOut.model_validate(server)


@router.patch(
    "/{server_id}",
    operation_id="update_server",
    response_model=ServerOut,
    dependencies=[Allocator],
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def patch_server(
    server_id: ServerId,
    body: ServerPatch,
    write: Write,
    expected: ExpectedGeneration,
    principal: Asking,
    context: Context,
) -> Response:
    """Report whether a server runs containers. A server without a reservation cannot run any."""

    def effect(tx: Transaction) -> Answer:
        change = InUse(server_id=server_id, in_use=body.in_use, generation=expected)
        [server] = set_in_use(tx, [change], actor=principal.name, now=context.clock.now())
        return Answer(200, ServerOut.model_validate(server), etag(server.generation))

    return write.once(effect)


@router.patch(
    "",
    operation_id="update_servers",
    response_model=ServersOut,
    dependencies=[Allocator],
    responses=problems(404, 409),
)
def patch_servers(body: ServersPatch, write: Write, principal: Asking, context: Context) -> Response:
    """Report which servers run containers, all or nothing. Each item carries the generation that you have read."""

    def effect(tx: Transaction) -> Answer:
        changes = [InUse(**change.model_dump()) for change in body.servers]
        servers = set_in_use(tx, changes, actor=principal.name, now=context.clock.now())
        return Answer(200, ServersOut(items=[ServerOut.model_validate(server) for server in servers]))

    return write.once(effect)
