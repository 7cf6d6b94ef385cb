"""Errors as RFC 9457 problem documents, with a stable code and the fields they are about."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from libs.observability.logs import redact

MEDIA_TYPE = "application/problem+json"
TITLES = {
    "answer_not_kept": "It was done, and its answer was not kept",
    "bad_request": "The request cannot be read",
    "contradiction": "It cannot be kept together with what is there",
    "conflict": "Conflict with what is there",
    "duplicate_name": "The name is taken",
    "forbidden": "This token may not do that",
    "four_eyes": "Somebody else must approve that",
    "idempotency_key_reused": "The idempotency key was used for another request",
    "internal_error": "Something went wrong on our side",
    "invalid_request": "Some fields are not valid",
    "invalid_token": "The token is not valid",
    "last_admin": "Somebody must be able to make tokens",
    "method_not_allowed": "The method is not allowed here",
    "managed_by_policy": "The region's policy decides that",
    "needs_approval": "Somebody must approve that",
    "not_an_owner": "This token may not act for that owner",
    "not_a_decision": "This can be imagined, and not decided",
    "not_found": "There is no such thing",
    "own_token": "This is the token that you are using",
    "precondition_required": "Say which generation you have read",
    "quota_exceeded": "The owner's quota does not cover that",
    "rate_limited": "Too many requests",
    "stale_generation": "Somebody else has changed it",
    "stale_import": "The region is not as the import was compared with",
    "stale_plan": "The region has moved on",
    "too_large": "The request body is too large",
    "too_many_undecided": "The owner has too many requests that are not decided",
    "too_slow": "The request body did not come in time",
    "unauthenticated": "A token is needed",
    "unsupported_media_type": "This route takes another type of body",
    "unavailable": "The database cannot be reached",
    "wrong_phase": "It is too late for that",
}
"""Each code that libs.web or a service may send, and its title. Clients match codes; titles may be reworded."""


ERRORS_MAX = 100
"""Fields that one answer names: a body of 1 MB may have a hundred thousand that are wrong."""


class FieldError(BaseModel):
    """One field that is not as it should be."""

    field: str = Field(description="Path of the field, such as spec.rru.hw-07", examples=["spec.capacity_rru"])
    location: str = Field(description="body, query, path or header", examples=["body"])
    code: str = Field(description="Stable identifier of what is wrong", examples=["unknown_name"])
    message: str = Field(description="What is wrong and what to do", examples=["must be greater than 0"])
    known: list[str] = Field(default_factory=list, description="The nearest or known right names, where there are any")


class ProblemDocument(BaseModel):
    """What every error answers with. Some codes add members of their own, such as found_generation."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["urn:plimsoll:problem:stale_generation"])
    title: str = Field(examples=[TITLES["stale_generation"]])
    status: int = Field(examples=[409])
    code: str = Field(description="Stable: match on this", examples=["stale_generation"])
    detail: str = Field(description="For people: what happened and what to do next")
    errors: list[FieldError] = Field(default_factory=list)
    request_id: str | None = Field(default=None, description="Quote it when asking for help")


class Problem(HTTPException):
    """Raise it to answer with a problem document. `code` is one of TITLES, or KeyError."""

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
        """The answer that this problem is. What a client put into a path or a name is told back without secrets."""
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
    """Repeats what a client sent, which may hold half of a surrogate pair: that has no UTF-8."""

    media_type = MEDIA_TYPE

    def render(self, content: object) -> bytes:
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def invalid(*errors: FieldError, unnamed: int = 0) -> Problem:
    """422: these fields are not valid, and so many more that are not named."""
    detail = "; ".join(f"{error.field}: {error.message}" for error in errors[:3])
    rest = len(errors) - len(errors[:3]) + unnamed
    more = f" (and {rest} more)" if rest else ""
    return Problem(422, "invalid_request", detail + more, errors=errors)


def not_found(noun: str, identifier: object) -> Problem:
    """404: there is no such thing."""
    return Problem(404, "not_found", f"There is no {noun} {identifier}.")
