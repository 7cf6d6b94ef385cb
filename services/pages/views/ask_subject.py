"""The thing that the page Ask is about: a new reservation, another size of one, or an undecided request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from services.pages.api import ApiProblem, Json
from services.pages.form_fields import WrongField
from services.pages.views.missing_reservation import missing_reservation
from services.pages.visit import Visit

OPEN_PHASES = ("submitted", "assessing", "awaiting_approval")
"""Phases of a request that can still be amended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The reservation or request that the form changes.

    verb         resize or amend
    generation   the version that the person read
    path         of the API, for the change
    reservation  the reservation's id and generation, for a dry run; None: a dry run asks for a new one
    number       of the request; None: it is a reservation
    """

    verb: str
    name: str
    owner: str
    generation: int
    spec: Json
    path: str
    reservation: tuple[int, int] | None
    number: int | None = None


def subject_of(visit: Visit, region: str) -> Subject | None:
    """Return the subject that the URL names; None for a new reservation. Raises ApiProblem (404, 409)."""
    if "amend" in visit.query:
        return _request(visit, region, visit.query["amend"])
    name = visit.query.get("resize")
    if name is None:
        return None
    found = visit.api.get("/v1/reservations", region=region, name=name)["items"]
    if not found:
        raise missing_reservation(visit, region, name)
    row: Json = found[0]
    here = (row["reservation_id"], row["generation"])
    path = f"/v1/reservations/{row['reservation_id']}"
    return Subject(
        verb="resize",
        name=row["name"],
        owner=row["owner"],
        generation=row["generation"],
        spec=row["spec"],
        path=path,
        reservation=here,
    )


def _request(visit: Visit, region: str, number: str) -> Subject:
    detail = f"There is no request {number[:40]} in {region}. The page of requests lists them."
    row = visit.api.get_one("/v1/capacity-requests", number, noun="request", detail=detail, region=region)
    if row["spec"] is None or row["status"]["phase"] not in OPEN_PHASES:
        detail = "It is decided already. Resize the reservation instead, or ask again."
        raise ApiProblem(409, {"title": "This request cannot be amended", "detail": detail})
    is_new = row["reservation_id"] is None
    return Subject(
        verb="amend",
        name=row["reservation"],
        owner=row["owner"],
        generation=row["generation"],
        spec=row["spec"],
        path=f"/v1/capacity-requests/{row['capacity_request_id']}",
        reservation=None if is_new else (row["reservation_id"], row["reservation_generation"]),
        number=row["capacity_request_id"],
    )


def send(visit: Visit, region: str, subject: Subject | None, body: Json, *, dry_run: bool) -> Json:
    """Send the body as a request, a change of one, or a dry run of it. Raises WrongField, ApiProblem."""
    form, key = visit.form, None if dry_run else visit.form.get("key")
    if subject is not None:
        generation = _generation(form)
        if not dry_run:
            return visit.api.send("PATCH", subject.path, body, generation=generation, key=key)
        if subject.reservation is not None:
            reservation_id, of_reservation = subject.reservation
            version = generation if subject.verb == "resize" else of_reservation
            path = f"/v1/reservations/{reservation_id}"
            return visit.api.send("PATCH", path, body, generation=version, dry_run=True)
    named = _named(form, subject)
    return visit.api.send("POST", "/v1/reservations", {**body, "region": region, **named}, key=key, dry_run=dry_run)


def _named(form: Mapping[str, Any], subject: Subject | None) -> dict[str, str]:
    if subject is not None:
        return {"name": subject.name, "owner": subject.owner}
    for field in ("name", "owner"):
        if not form.get(field, "").strip():
            raise WrongField(field, "is required")
    return {field: form[field].strip() for field in ("name", "owner")}


def _generation(form: Mapping[str, Any]) -> int:
    generation = form.get("generation", "")
    if not generation.isdecimal():
        raise WrongField("capacity_rru", "open this page again: it does not say which version you read")
    return int(generation)
