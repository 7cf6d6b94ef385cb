"""Show an explanation of the API. It takes seconds, so a page fetches it after the page is shown."""

from __future__ import annotations

from services.pages.api import ApiProblem, Json
from services.pages.visit import Visit


def explained_when(visit: Visit) -> str:
    """Return when a page with an explanation has it: `after` it is shown; or `now`, because without scripts a link
    waits for it.
    """
    return "now" if "wait" in visit.query else "after"


def explanation(visit: Visit, path: str, **query: str | None) -> Json:
    """Return the explanation of the object at `path` of the API, or why there is none, for reservation_why.html."""
    try:
        return {"why": visit.api.get(f"{path}/explain", **query), "why_not": "", "of_type": None}
    except ApiProblem as problem:
        if problem.status not in (404, 409, 422, 429):
            raise
        return {"why": None, "why_not": " ".join([problem.detail, *problem.fields.values()]), "of_type": None}
