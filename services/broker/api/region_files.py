"""`/v1/regions/{region}/import` and `/export`: a whole region as the files of the interchange format."""

from __future__ import annotations

import io
import zipfile
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, File, Response, UploadFile

from libs.domain.policy import RegionPolicy
from libs.domain.principal import Role
from libs.interchange.files.errors import InterchangeError
from libs.interchange.files.tables import Content
from libs.interchange.region.read import FILES, OPTIONAL_FILES, load_region
from libs.interchange.region.write import dump_region
from libs.reconcile.crash import crash_point
from libs.store.platform.database import Transaction
from libs.store.regions.region_conditions import load_conditions
from libs.store.regions.region_export import load_region_image
from libs.store.regions.region_import import import_region
from libs.web.auth import Asking, require
from libs.web.bad_files import bad_files
from libs.web.context import Context
from libs.web.decoding import Slot, room
from libs.web.generations import etag
from libs.web.idempotency import Answer, Write
from libs.web.openapi import headers, problems
from services.broker.api.regions import RegionName, RegionOut, region_out

router = APIRouter(prefix="/v1/regions", tags=["regions"])
IMPORT_BYTES_MAX = 200_000_000
"""Limit of an upload. For scale: a region of 100,000 servers and 1,000 reservations is half a megabyte."""


@router.post(
    "/{region}/import",
    operation_id="import_region",
    status_code=201,
    response_model=RegionOut,
    dependencies=[Depends(require(Role.OPERATOR)), Depends(room)],
    responses={201: {"headers": headers("ETag", "Location")}, **problems(409)},
)
def post_import(
    region: RegionName,
    servers: Annotated[UploadFile, File(description="servers.parquet")],
    reservations: Annotated[UploadFile, File(description="reservations.parquet")],
    rru: Annotated[UploadFile, File(description="rru.parquet")],
    affinity: Annotated[UploadFile, File(description="affinity.parquet")],
    policy: Annotated[UploadFile, File(description="policy.json")],
    write: Write,
    principal: Asking,
    context: Context,
    _slot: Slot,
    hardware_types: Annotated[UploadFile | None, File(description="hardware_types.parquet: cost units")] = None,
    rru_classes: Annotated[UploadFile | None, File(description="rru_classes.parquet: classes of workload")] = None,
    power_limits: Annotated[UploadFile | None, File(description="power_limits.parquet: W of domains")] = None,
) -> Response:
    """Create a region from its files, all or nothing. An existing region is not changed."""
    uploads = dict(zip(FILES, (servers, reservations, rru, affinity, policy), strict=True))
    told = zip(OPTIONAL_FILES, (hardware_types, rru_classes, power_limits), strict=True)
    uploads |= {name: upload for name, upload in told if upload is not None}
    files: dict[str, Content] = {name: upload.file for name, upload in uploads.items()}
    # before they are read, because reading closes them
    write = write.about(*(upload.file for upload in uploads.values()))
    try:
        image = load_region(files, name=region, absent=RegionPolicy())
    except InterchangeError as error:
        raise bad_files(error) from error

    def effect(tx: Transaction) -> Answer:
        crash_point("broker.import.before")
        made = import_region(tx, image, actor=principal.name, now=context.clock.now())
        crash_point("broker.import.after")
        conditions = load_conditions(tx, [made.region_id])[made.region_id]
        location = {"Location": f"/v1/regions/{quote(region, safe='')}"}
        return Answer(201, region_out(made, conditions), {**location, **etag(made.generation)})

    return write.once(effect)


@router.get(
    "/{region}/export",
    operation_id="export_region",
    response_class=Response,
    responses={
        200: {
            "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
            "description": f"A zip of {', '.join((*FILES, *OPTIONAL_FILES))}",
        },
        **problems(404),
    },
)
def get_export(region: RegionName, context: Context) -> Response:
    """Return the region as the files that an import accepts."""
    with context.database.snapshot() as tx:
        image = load_region_image(tx, region)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:  # the files are compressed already
        for name, content in dump_region(image).items():
            archive.writestr(name, content)
    return Response(stream.getvalue(), media_type="application/zip")
