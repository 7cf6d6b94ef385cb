"""`/v1/regions/{region}/imports`: lists of servers, compared with the region, then confirmed or discarded."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, File, Path, Query, Response, UploadFile
from pydantic import Field

from libs.domain.inventory_diff import ImportAction, ImportMode, diff_inventory, find_conflicts
from libs.domain.principal import Role
from libs.domain.region_import import Import, ImportStatus, describe_item
from libs.domain.words import as_sentence
from libs.interchange.files.errors import InterchangeError
from libs.interchange.inventory.inventory import load_inventory
from libs.store.fleet.import_confirm import confirm_import
from libs.store.fleet.imports import (
    StaleImport,
    discard_import,
    list_import_items,
    list_imports,
    load_import,
    propose_import,
)
from libs.store.fleet.inventory_snapshot import load_known_servers
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction
from libs.web.auth import Asking, require
from libs.web.bad_files import bad_files
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.decoding import Slot, room
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, PageOf, ResponseModel
from libs.web.openapi import headers, problems
from libs.web.problems import FieldError, Problem, invalid
from services.broker.api.regions import RegionName
from services.broker.ask_maintenance import ask_queue

router = APIRouter(prefix="/v1/regions/{region}/imports", tags=["imports"])
LIST_BYTES_MAX = 100_000_000
"""Limit of an upload. For scale: servers.parquet of 100,000 servers is half a megabyte."""
_NOUN, _ITEMS = "imports", "import-items"
ImportId = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the import")]
Operator = Depends(require(Role.OPERATOR))


class ImportOut(ResponseModel):
    """A proposed import, with the number of servers per action."""

    import_id: int
    region: str
    mode: ImportMode
    status: ImportStatus
    counts: dict[str, int] = Field(
        description="Servers by action. refuse: it is bound, and a fixed field differs; keep: the list lacks it",
        examples=[{"add": 40, "change": 2, "retire": 0, "refuse": 1, "keep": 1999}],
    )
    proposed_by: str
    decided_by: str | None
    generation: int
    created_at: datetime
    decided_at: datetime | None


class ImportItemOut(ResponseModel):
    """The proposed action for one server."""

    item_index: int
    action: ImportAction
    server: str
    server_id: int | None = Field(description="null if the server is new")
    reservation: str | None = Field(description="The reservation to which the server is bound")
    datacenter: str | None
    msb: str | None
    rack: str | None
    hardware_type: str | None
    unavailability: str | None
    domains: dict[str, str | None] | None = Field(
        description="Domains of further kinds by kind, such as network_block; null: the server has no place of the kind"
    )
    was_msb: str | None
    was_rack: str | None
    was_hardware_type: str | None
    was_unavailability: str | None
    was_domains: dict[str, str | None] | None
    message: str = Field(description="For people: the action, or the reason for no action")


@router.post(
    "",
    operation_id="propose_import",
    status_code=201,
    response_model=ImportOut,
    dependencies=[Operator, Depends(room)],
    responses={201: {"headers": headers("Location")}, **problems(404)},
)
def post_import(
    region: RegionName,
    servers: Annotated[
        UploadFile, File(description="servers.parquet of the region format; bindings in it are ignored")
    ],
    write: Write,
    principal: Asking,
    context: Context,
    _slot: Slot,
    mode: Annotated[
        ImportMode,
        Query(description="merge: add and change; only_add; prune: also retire servers that are not listed"),
    ] = ImportMode.MERGE,
) -> Response:
    """Compare a list of servers with the region. Nothing changes until the import is confirmed."""
    write = write.about(servers.file)
    try:
        inventory = load_inventory({"servers.parquet": servers.file})
    except InterchangeError as error:
        raise bad_files(error) from error
    with context.database.snapshot() as tx:
        known = load_known_servers(tx, region)
    conflicts = find_conflicts(known.topology, inventory.topology)
    if conflicts:
        raise invalid(
            *(
                FieldError(field=f"servers.parquet.{field}", location="body", code="elsewhere", message=message)
                for field, message in conflicts
            )
        )
    items = diff_inventory(known, inventory, mode)

    def effect(tx: Transaction) -> Answer:
        now, actor = context.clock.now(), principal.name
        found = propose_import(tx, region, known, inventory, items, mode=mode, proposed_by=actor, now=now)
        location = f"/v1/regions/{quote(region, safe='')}/imports/{found.import_id}"
        return Answer(201, ImportOut.model_validate(found), {"Location": location})

    return write.once(effect)


@router.get("", operation_id="list_imports", responses=problems(404))
def get_imports(region: RegionName, context: Context, paging: Paging) -> PageOf[ImportOut]:
    """List imports into a region, latest first."""
    before = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_imports(tx, region, before=before, limit=paging.limit)
    items = [ImportOut.model_validate(found) for found in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get("/{import_id}", operation_id="get_import", responses=problems(404))
def get_import(region: RegionName, import_id: ImportId, context: Context) -> ImportOut:
    """Return one import."""
    with context.database.snapshot() as tx:
        return ImportOut.model_validate(load_import(tx, region, import_id))


@router.get("/{import_id}/items", operation_id="list_import_items", responses=problems(404))
def get_items(
    region: RegionName,
    import_id: ImportId,
    context: Context,
    paging: Paging,
    action: Annotated[ImportAction | None, Query(description="With this action only")] = None,
) -> PageOf[ImportItemOut]:
    """List the affected servers, each with its action. A discarded import has no items."""
    after = paging.after(_ITEMS)
    with context.database.snapshot() as tx:
        page = list_import_items(tx, region, import_id, action=action, after=after, limit=paging.limit)
    items = [
        ImportItemOut(**{name: getattr(item, name) for name in item.__dataclass_fields__}, message=describe_item(item))
        for item in page.items
    ]
    return PageOf(items=items, next_cursor=next_cursor(_ITEMS, page.next_cursor))


@router.post(
    "/{import_id}/confirm",
    operation_id="confirm_import",
    response_model=ImportOut,
    dependencies=[Operator],
    responses=problems(404, 409),
)
def post_confirm(
    region: RegionName, import_id: ImportId, write: Write, principal: Asking, context: Context
) -> Response:
    """Apply the proposal exactly, or change nothing. Answer 409 if the import rests on data that has changed since."""

    def confirm(tx: Transaction) -> Import:
        now = context.clock.now()
        found = confirm_import(tx, region, import_id, actor=principal.name, now=now)
        ask_queue(tx, load_region(tx, region).region_id, now=now)  # for servers that entered maintenance under way
        return found

    return _decide(write, confirm)


@router.post(
    "/{import_id}/discard",
    operation_id="discard_import",
    response_model=ImportOut,
    dependencies=[Operator],
    responses=problems(404, 409),
)
def post_discard(
    region: RegionName, import_id: ImportId, write: Write, principal: Asking, context: Context
) -> Response:
    """Discard the proposal. Its counts stay, and its items are deleted."""
    return _decide(
        write,
        lambda tx: discard_import(tx, region, import_id, actor=principal.name, now=context.clock.now()),
    )


def _decide(write: Write, decision: Callable[[Transaction], Import]) -> Response:
    try:
        return write.once(lambda tx: Answer(200, ImportOut.model_validate(decision(tx))))
    except StaleImport as stale:
        raise Problem(409, "stale_import", f"{as_sentence(str(stale))} Import the list again.") from stale
