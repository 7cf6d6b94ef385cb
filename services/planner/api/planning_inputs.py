"""`/v1/planning-inputs`: forecasts and other inputs from people, as tables in versions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from libs.domain.planning_input import InputVersion
from libs.domain.principal import Role
from libs.interchange.files.errors import InterchangeError
from libs.interchange.planning_inputs.diff import RowChange, counts_of, diff_rows
from libs.interchange.planning_inputs.formats import (
    csv_of,
    json_rows,
    rows_of_csv,
    rows_of_json,
    rows_of_parquet,
    stored_rows,
)
from libs.interchange.planning_inputs.rows import Row
from libs.interchange.planning_inputs.tables import INPUT_TABLES, REQUIRED, InputTable
from libs.reconcile.errors import StaleGeneration
from libs.store.planner.planning_inputs import append_version, list_current, list_versions, load_current, load_version
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.web import patterns
from libs.web.auth import Asking, require
from libs.web.bad_files import bad_files
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.decoding import Slot, room
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, PageOf, ResponseModel
from libs.web.openapi import headers, problems
from libs.web.problems import Problem
from libs.web.reasons import GivenReason
from services.planner.put_input import propose

router = APIRouter(prefix="/v1/planning-inputs", tags=["planning inputs"])
INPUT_BYTES_MAX = 32_000_000
DIFF_ROWS_MAX = 1000
_NOUN = "planning-inputs"
CSV, PARQUET = "text/csv", "application/vnd.apache.parquet"
_READERS = {"application/json": rows_of_json, CSV: rows_of_csv, PARQUET: rows_of_parquet}
_InputName = Annotated[str, Path(pattern=patterns.INPUT_NAME, description="Name of the input", examples=["growth"])]
_Version = Annotated[int, Query(ge=0, le=ID_MAX)]


class InputOut(ResponseModel):
    """An input at one version. Version 0 has no rows: no version was put yet."""

    name: str
    version: int = Field(description="Send it as If-Match to put the next version")
    rows: int
    required: bool = Field(description="Without it there is no plan")
    comment: str | None
    created_by: str | None
    created_at: datetime | None


class InputRowsOut(InputOut):
    """An input with its rows."""

    items: list[dict[str, Any]] = Field(description="One object per row, without empty columns")


class InputPutOut(InputOut):
    """The result of putting an input."""

    changed: bool = Field(description="false: the rows are the same, and there is no new version")
    counts: dict[str, int] = Field(description="Rows added, removed and changed")
    warnings: list[str] = Field(description="Errors that this causes in other inputs; a plan would refuse them")


class RowDiffOut(ResponseModel):
    """One row that differs."""

    change: RowChange
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class InputDiffOut(ResponseModel):
    """The difference between two versions."""

    name: str
    from_version: int
    to_version: int
    counts: dict[str, int] = Field(description="Rows added, removed and changed")
    items: list[RowDiffOut] = Field(description=f"The first {DIFF_ROWS_MAX}")


async def _body(request: Request) -> bytes:
    return await request.body()


def _table(name: str) -> InputTable:
    table = INPUT_TABLES.get(name)
    if table is None:
        raise Problem(404, "not_found", f"There is no planning input {name}; there are {', '.join(INPUT_TABLES)}.")
    return table


def _fields(name: str, found: InputVersion | None) -> dict[str, Any]:
    return {
        "name": name,
        "version": 0 if found is None else found.version,
        "rows": 0 if found is None else found.rows,
        "required": name in REQUIRED,
        "comment": None if found is None else found.comment,
        "created_by": None if found is None else found.created_by,
        "created_at": None if found is None else found.created_at,
    }


@router.get("", operation_id="list_planning_inputs")
def get_inputs(context: Context) -> list[InputOut]:
    """List all inputs of a plan, each at its latest version."""
    with context.database.snapshot() as tx:
        found = {one.name: one for one in list_current(tx)}
    return [InputOut(**_fields(name, found.get(name))) for name in INPUT_TABLES]


@router.get(
    "/{name}",
    operation_id="get_planning_input",
    response_model=InputRowsOut,
    responses={
        200: {"headers": headers("ETag"), "content": {CSV: {}, PARQUET: {}}},
        **problems(404),
    },
)
def get_input(
    name: _InputName,
    context: Context,
    version: Annotated[_Version | None, Query(description="If omitted: the latest")] = None,
    accept: Annotated[str | None, Header(description=f"application/json, {CSV} or {PARQUET}")] = None,
) -> Response:
    """Return the rows of an input."""
    table = _table(name)
    with context.database.snapshot() as tx:
        found = _load(tx, name, version)
    media = (accept or "").split(";")[0].strip()
    tag = etag(0 if found is None else found[0].version)
    if media == PARQUET and found is not None:
        return Response(found[1], media_type=PARQUET, headers=tag)
    rows = [] if found is None else stored_rows(found[1])
    if media == CSV:
        return Response(csv_of(table, rows), media_type=CSV, headers=tag)
    fields = _fields(name, None if found is None else found[0])
    return JSONResponse(InputRowsOut(**fields, items=json_rows(rows)).model_dump(mode="json"), headers=tag)


@router.put(
    "/{name}",
    operation_id="put_planning_input",
    response_model=InputPutOut,
    dependencies=[Depends(require(Role.OPERATOR)), Depends(room)],
    responses={200: {"headers": headers("ETag")}, **problems(404, 409, 415)},
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "required": ["rows"],
                        "properties": {"rows": {"type": "array", "items": {"type": "object"}}},
                    },
                    "example": {"rows": [{"step": 1, "product": "feed", "growth": 0.02}]},
                },
                CSV: {"schema": {"type": "string"}},
                PARQUET: {"schema": {"type": "string", "format": "binary"}},
            },
        }
    },
)
def put_input(
    name: _InputName,
    body: Annotated[bytes, Depends(_body)],
    request: Request,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
    _slot: Slot,
    comment: Annotated[GivenReason | None, Query(description="Why; kept with the version")] = None,
    minute_zero: Annotated[
        datetime | None, Query(description="The moment of minute 0, for tables with start_minute and end_minute")
    ] = None,
    dry_run: Annotated[bool, Query(description="Check the rows and report the changes without keeping them")] = False,
) -> Response:
    """Put the whole table as its next version. The same rows again make no new version."""
    table = _table(name)
    if minute_zero is not None and minute_zero.tzinfo is None:
        minute_zero = minute_zero.replace(tzinfo=UTC)
    now = context.clock.now()

    def answer(tx: Transaction, *, keep: bool) -> Answer:
        try:
            found = propose(tx, table, _rows(request, table, body), minute_zero=minute_zero, now=now)
        except InterchangeError as error:
            raise bad_files(error) from error
        changed = any(found.counts.values())
        version = found.before
        at = 0 if version is None else version.version
        if at != expected:  # a dry run, or unchanged rows, must rest on the latest version too
            raise StaleGeneration("planning input", name, expected=expected, found=at)
        if keep and (changed or version is None):
            actor = principal.name
            version = append_version(
                tx,
                name,
                found.content,
                rows=found.rows,
                generation=expected,
                comment=comment,
                created_by=actor,
                now=now,
            )
            audit.append(
                tx,
                actor=actor,
                action="put",
                subject_kind="planning_input",
                subject_id=version.planning_input_version_id,
                now=now,
                after={"name": name, "version": version.version, **found.counts},
                reason=comment,
            )
        fields = _fields(name, version) | ({} if keep else {"rows": found.rows})
        out = InputPutOut(**fields, changed=changed, counts=found.counts, warnings=[str(p) for p in found.warnings])
        return Answer(200, out, etag(out.version))

    if dry_run:
        with context.database.snapshot() as tx:
            given = answer(tx, keep=False)
        assert given.body is not None
        return JSONResponse(given.body.model_dump(mode="json"), headers=dict(given.headers))
    return write.once(lambda tx: answer(tx, keep=True))


@router.get("/{name}/versions", operation_id="list_planning_input_versions", responses=problems(404))
def get_versions(name: _InputName, context: Context, paging: Paging) -> PageOf[InputOut]:
    """List the versions of an input, latest first, each with its author, time and comment."""
    _table(name)
    before = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_versions(tx, name, before=before, limit=paging.limit)
    items = [InputOut(**_fields(name, one)) for one in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get("/{name}/diff", operation_id="diff_planning_input", responses=problems(404))
def get_diff(
    name: _InputName,
    context: Context,
    from_version: Annotated[_Version | None, Query(description="If omitted: the version before to_version")] = None,
    to_version: Annotated[_Version | None, Query(description="Left out: the latest")] = None,
) -> InputDiffOut:
    """Return the difference between two versions, row by row."""
    table = _table(name)
    with context.database.snapshot() as tx:
        new = _load(tx, name, to_version)
        at = 0 if new is None else new[0].version
        old = _load(tx, name, max(at - 1, 0) if from_version is None else from_version)
    before, after = ([] if one is None else stored_rows(one[1]) for one in (old, new))
    found = diff_rows(table, before, after)
    return InputDiffOut(
        name=name,
        from_version=0 if old is None else old[0].version,
        to_version=at,
        counts=counts_of(found),
        items=[
            RowDiffOut(
                change=one.change,
                before=None if one.before is None else json_rows([one.before])[0],
                after=None if one.after is None else json_rows([one.after])[0],
            )
            for one in found[:DIFF_ROWS_MAX]
        ],
    )


def _load(tx: Transaction, name: str, version: int | None) -> tuple[InputVersion, bytes] | None:
    if version == 0:
        return None
    return load_current(tx, name) if version is None else load_version(tx, name, version)


def _rows(request: Request, table: InputTable, body: bytes) -> list[Row]:
    media = request.headers.get("Content-Type", "").split(";")[0].strip().lower()
    reader = _READERS.get(media)
    if reader is None:
        detail = f"Send the rows with Content-Type: {', '.join(_READERS)}."
        raise Problem(415, "unsupported_media_type", detail)
    return reader(table, body)
