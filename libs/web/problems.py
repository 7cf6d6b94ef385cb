"""Errors as RFC 9457 problem documents, with a stable code and the fields at fault."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from libs.observability.logs import redact

MEDIA_TYPE = "application/problem+json"
TITLES = {
    "answer_not_kept": "It was done, but its answer was not stored",
    "bad_request": "The request cannot be read",
    "churn_budget": "The churn budget does not allow that now",
    "claims_left_out": "The issuer left out claims that decide your role",
    "class_in_use": "Reservations follow this class of workload",
    "conflicting_events": "Live events of the ledger contradict it",
    "contradiction": "It contradicts the present state",
    "conflict": "It conflicts with the present state",
    "duplicate_name": "The name is taken",
    "forbidden": "This token may not do that",
    "four_eyes": "Somebody else must approve that",
    "has_guests": "It has guests on its servers",
    "idempotency_key_reused": "The idempotency key was used for another request",
    "in_session": "A session cannot start another",
    "internal_error": "The server failed",
    "invalid_request": "Some fields are not valid",
    "invalid_token": "The token is not valid",
    "last_admin": "Somebody must be able to make tokens",
    "method_not_allowed": "The method is not allowed here",
    "maintenance_refused": "It would break a rule of maintenance",
    "managed_by_policy": "The region's policy decides that",
    "newer_policy": "A newer version set prices that this one does not know",
    "no_role": "No rule gives you a role",
    "needs_approval": "Somebody must approve that",
    "not_an_owner": "This token may not act for that owner",
    "not_a_decision": "This can be simulated, but not applied",
    "not_in_session": "There is no session to end",
    "not_for_this": "It does not apply to that",
    "not_begun": "It has not begun yet",
    "not_found": "It does not exist",
    "own_token": "This is the token that you are using",
    "precondition_required": "Say which generation you have read",
    "quota_exceeded": "The owner's quota does not cover that",
    "rate_limited": "Too many requests",
    "stale_generation": "Somebody else has changed it",
    "stale_import": "The region has changed since the import was compared",
    "stale_plan": "The target plan of the region has changed",
    "too_large": "The request body is too large",
    "too_many_classes": "The region has too many classes of workload",
    "too_many_undecided": "The owner has too many undecided requests",
    "too_slow": "The request body did not arrive in time",
    "unauthenticated": "A token is needed",
    "unsupported_media_type": "This route takes another type of body",
    "unavailable": "The database cannot be reached",
    "wrong_phase": "It is too late for that",
}
"""The title of each code that libs.web or a service may send. Clients match codes; titles may change."""


ERRORS_MAX = 100
"""Largest number of fields that one answer names. A body of 1 MB may have 100,000 invalid fields."""


class FieldError(BaseModel):
    """One invalid field."""

    field: str = Field(description="Path of the field, such as spec.rru.hw-07", examples=["spec.capacity_rru"])
    location: str = Field(description="body, query, path or header", examples=["body"])
    code: str = Field(description="Stable identifier of what is wrong", examples=["unknown_name"])
    message: str = Field(description="What is wrong and what to do", examples=["must be greater than 0"])
    known: list[str] = Field(default_factory=list, description="The nearest known names, or known names; may be empty")


class ProblemDocument(BaseModel):
    """The body of every error. Some codes add members of their own, such as found_generation."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["urn:plimsoll:problem:stale_generation"])
    title: str = Field(examples=[TITLES["stale_generation"]])
    status: int = Field(examples=[409])
    code: str = Field(description="Stable: match on this", examples=["stale_generation"])
    detail: str = Field(description="For people: what happened and what to do next")
    errors: list[FieldError] = Field(default_factory=list)
    request_id: str | None = Field(default=None, description="Quote it when asking for help")


class Problem(HTTPException):
    """An exception that is answered with a problem document. `code` is a key of TITLES; any other raises KeyError."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        errors: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
        **members: object,
    ) -> None:
        super().__init__(status, detail, headers)
        self.code, self.title, self.errors, self.members = code, TITLES[code], tuple(errors), members

    def response(self, request_id: str | None) -> JSONResponse:
        """Return the answer. Secrets in texts that repeat a client's input are redacted."""
        document = ProblemDocument(
            type=f"urn:plimsoll:problem:{self.code}",
            title=self.title,
            status=self.status_code,
            code=self.code,
            detail=self.detail,
            errors=list(self.errors),
            request_id=request_id,
            **self.members,
        )
        content = redact(document.model_dump(mode="json"))
        return _ProblemResponse(content, self.status_code, dict(self.headers or {}))


class _ProblemResponse(JSONResponse):
    """Encodes a client's texts, which may contain half of a surrogate pair. UTF-8 cannot encode that, so it is
    replaced.
    """

    media_type = MEDIA_TYPE

    def render(self, content: object) -> bytes:
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def invalid(*errors: FieldError, unnamed: int = 0) -> Problem:
    """Return a 422 that names the invalid fields given, and states that `unnamed` more fields are invalid."""
    detail = "; ".join(f"{error.field}: {error.message}" for error in errors[:3])
    rest = len(errors) - len(errors[:3]) + unnamed
    more = f" (and {rest} more)" if rest else ""
    return Problem(422, "invalid_request", detail + more, errors=errors)


def not_found(noun: str, identifier: object) -> Problem:
    """Return a 404."""
    return Problem(404, "not_found", f"There is no {noun} {identifier}.")
