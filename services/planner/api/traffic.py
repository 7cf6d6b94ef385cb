"""`/v1/traffic`: the traffic of products at their gateways, minute by minute, as tables."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Response

from libs.domain.principal import Role
from libs.interchange.world.measurements import load_traffic
from libs.store.telemetry.measures import TRAFFIC
from libs.web.auth import require
from libs.web.decoding import room
from libs.web.openapi import problems
from services.planner.measurements import REQUEST_BODY, MeasurementsOut, Uploaded

router = APIRouter(prefix="/v1/traffic", tags=["telemetry"])


@router.post(
    "",
    operation_id="report_traffic",
    response_model=MeasurementsOut,
    dependencies=[Depends(require(Role.TELEMETRY)), Depends(room)],
    openapi_extra=REQUEST_BODY,
    responses=problems(415),
)
def post_traffic(upload: Uploaded) -> Response:
    """Store a table, CSV or Parquet, with the columns minute, product, region, requests_per_s.

    All rows are stored or none. A new sample replaces the earlier one of its minute, so a repeated upload changes
    nothing.
    """
    return upload.keep(TRAFFIC, load_traffic)
