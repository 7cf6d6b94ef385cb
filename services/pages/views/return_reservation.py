"""Return a reservation from its page: first what would happen, then the deletion of the version that was read."""

from __future__ import annotations

import uuid

from starlette.responses import Response

from libs.domain.principal import Role
from services.pages.api import ApiProblem, Json
from services.pages.visit import Visit, go_to

_REFUSED = (403, 404, 409, 412, 422, 428, 429)


def return_it(visit: Visit, path: str, requests_url: str) -> Response | str:
    """Delete the reservation at `path` of the API, as the form says. Return the way to its request, or the refusal."""
    form, generation = visit.form, visit.form.get("generation", "")
    if form.get("deed") != "return" or not generation.isdecimal():
        return "The form cannot be read. Open the page again, and repeat it there."
    reason = {"reason": form.get("reason", "").strip()}
    try:
        visit.api.send("DELETE", path, generation=int(generation), key=form.get("key"), query=reason)
    except ApiProblem as problem:
        if problem.status not in _REFUSED:
            raise
        return " ".join([problem.detail, *problem.fields.values()])
    return go_to(requests_url)


def asked_to_return(visit: Visit, row: Json, trouble: str) -> Json:
    """Return the values of the form.

    open      the person has asked for it
    said      the API's answer to a dry run: what would happen; "": the form is not open, or may not be sent
    why_not   why the person may not return it; "" if they may
    """
    why_not = _why_not(visit, row)
    is_open = "return" in visit.query or bool(trouble)
    said = ""
    if is_open and not why_not:
        asked = {"kind": "delete", "region": row["region"], "reservation": row["name"]}
        try:
            said = visit.api.send("POST", "/v1/capacity-requests", asked, dry_run=True)["status"]["message"]
        except ApiProblem as problem:
            if problem.status not in _REFUSED:
                raise
            why_not = problem.detail
    return {
        "open": is_open,
        "said": said,
        "why_not": why_not,
        "trouble": trouble,
        "reason": visit.form.get("reason", ""),
        "key": str(uuid.uuid4()),
    }


def _why_not(visit: Visit, row: Json) -> str:
    """Return why the API would refuse the person. The API decides; this only explains the button."""
    if row["deleted_at"] is not None:
        return "It was deleted already."
    if row["kind"] != "guaranteed":
        return "The policy of the region sizes this reservation."
    if not visit.may(Role.REQUESTER):
        return "Requesters and operators return reservations. You have another role."
    if not visit.may(Role.OPERATOR) and row["owner"] not in visit.who["owners"]:
        return f"It belongs to {row['owner']}, and you may not act for this owner."
    return ""
