"""Tell what became of a reservation that is not there: the latest request for it, and its decision."""

from __future__ import annotations

from urllib.parse import urlencode

from services.pages.api import ApiProblem
from services.pages.parts.words import spaced
from services.pages.visit import Visit, to_region


def missing_reservation(visit: Visit, region: str, name: str) -> ApiProblem:
    """Return the problem of a page about a reservation that is not live, with the decision on its latest request."""
    title = "There is no such reservation"
    requests = visit.api.get("/v1/capacity-requests", region=region, reservation=name, limit=1)["items"]
    if not requests:
        detail = f"There is no reservation {name} in {region}. It may have been deleted, or have another name."
        return ApiProblem(404, {"title": title, "detail": detail, "code": "not_found"})
    number, status = requests[0]["capacity_request_id"], requests[0]["status"]
    detail = (
        f"There is no reservation {name} in {region}. Its latest request {number} ({requests[0]['kind']}) is "
        f"{spaced(status['phase']).lower()}: {status['message']}"
    )
    url = f"{to_region(region, 'requests')}?{urlencode({'reservation': name, 'open': number})}"
    problem = {"title": title, "detail": detail, "code": "not_found"}
    return ApiProblem(404, problem, way=(url, f"Request {number} and its decision"))
