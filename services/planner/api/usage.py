"""`/v1/usage`: the usage of services, minute by minute, as tables."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Response

from libs.domain.principal import Role
from libs.interchange.world.measurements import load_usage
from libs.store.telemetry.measures import USAGE
from libs.web.auth import require
from libs.web.decoding import room
from libs.web.openapi import problems
from services.planner.measurements import REQUEST_BODY, MeasurementsOut, Uploaded

router = APIRouter(prefix="/v1/usage", tags=["telemetry"])


@router.post(
    "",
    operation_id="report_usage",
    response_model=MeasurementsOut,
    dependencies=[Depends(require(Role.TELEMETRY)), Depends(room)],
    openapi_extra=REQUEST_BODY,
    responses=problems(415),
)
def post_usage(upload: Uploaded) -> Response:
    """Store a table, CSV or Parquet, with the columns minute, service, region, hardware_type, used.

    All rows are stored or none. A new sample replaces the earlier one of its minute, so a repeated upload changes
    nothing.
    """
    return upload.keep(USAGE, load_usage)
