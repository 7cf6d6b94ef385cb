"""Writes: each is one transaction, done at most once per `Idempotency-Key`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, BinaryIO

from fastapi import Depends, Header, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from libs.reconcile.crash import crash_point
from libs.store.platform.database import Transaction
from libs.store.platform.idempotency import Holder, SavedAnswer, claim_key, save_answer
from libs.web import patterns
from libs.web.auth import Asking
from libs.web.context import Context, WebContext
from libs.web.problems import FieldError, Problem

ANSWER_BYTES_MAX = 65_536
"""Largest answer to store. Clients choose how many are stored, each for a day."""
NOT_KEPT = "Plimsoll-Answer-Not-Kept"
REPLAYED = "Idempotency-Replayed"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a write, sent after its commit."""

    status_code: int
    body: BaseModel | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Writer:
    """Runs a write in a transaction of its own."""

    context: WebContext
    holder: Holder
    key: str | None
    request_sha256: bytes

    def about(self, *contents: BinaryIO) -> Writer:
        """Return a writer that also compares these files of a form. The body of a form is not compared."""
        digest = hashlib.sha256(self.request_sha256)
        for content in contents:
            part = hashlib.sha256()
            while chunk := content.read(1 << 20):
                part.update(chunk)
            content.seek(0)
            digest.update(part.digest())
        return replace(self, request_sha256=digest.digest())

    def once(self, effect: Callable[[Transaction], Answer]) -> Response:
        """Do the write and answer, or repeat the answer to the first request with this key.

        The claim of the key, the effect and the saved answer commit together. If the effect raises, nothing is stored,
        and the key may be tried again. Raises Problem (422) if the key was used for another request.
        """
        with self.context.database.write() as tx:
            saved = self._claim(tx)
            if saved is not None:
                if NOT_KEPT in saved.headers:
                    raise _not_kept(saved)
                return _response(saved.status_code, saved.body, {**saved.headers, REPLAYED: "true"})
            answer = effect(tx)
            body = None if answer.body is None else answer.body.model_dump(mode="json")
            if self.key is not None:
                status_code, headers, kept = answer.status_code, answer.headers, body
                if len(json.dumps(body)) > ANSWER_BYTES_MAX:
                    headers, kept = {**headers, NOT_KEPT: "too large"}, None
                save_answer(tx, self.holder, self.key, status_code=status_code, headers=headers, body=kept)
            # Before the commit: if the answer cannot be encoded, nothing must be done.
            response = _response(answer.status_code, body, answer.headers)
            crash_point("web.write.before")
        crash_point("web.write.after")
        return response

    def _claim(self, tx: Transaction) -> SavedAnswer | None:
        if self.key is None:
            return None
        saved = claim_key(tx, self.holder, self.key, self.request_sha256)
        if saved is not None and saved.request_sha256 != self.request_sha256:
            message = "was used for a different request: send a new key"
            errors = [FieldError(field="Idempotency-Key", location="header", code="reused", message=message)]
            raise Problem(422, "idempotency_key_reused", f"This Idempotency-Key {message}.", errors=errors)
        return saved


def _not_kept(saved: SavedAnswer) -> Problem:
    detail = f"This was done already, and answered {saved.status_code}. That answer was too large to keep"
    location = saved.headers.get("Location")
    return Problem(
        409, "answer_not_kept", f"{detail}: read {location or 'what it changed'} instead of sending it again."
    )


def _response(status_code: int, body: object, headers: Mapping[str, str]) -> Response:
    if body is None:
        return Response(status_code=status_code, headers=dict(headers))
    return JSONResponse(body, status_code, dict(headers))


def is_form(content_type: str) -> bool:
    """Return whether FastAPI reads a body of this type as a form, which uses up its stream."""
    media = content_type.partition(";")[0].strip().lower()
    return media in ("multipart/form-data", "application/x-www-form-urlencoded")


async def _request_sha256(request: Request) -> bytes:
    """Return a digest of the request: method, address, generation and body. Two requests are the same if it
    is equal.
    """
    digest = hashlib.sha256()
    precondition = request.headers.get("If-Match", "")
    for part in (request.method, request.url.path, request.url.query, precondition):
        digest.update(part.encode() + b"\0")
    # FastAPI has read the body and keeps it, except for a form: see Writer.about.
    if not is_form(request.headers.get("Content-Type", "")):
        digest.update(await request.body())
    return digest.digest()


async def _writer(
    context: Context,
    principal: Asking,
    request_sha256: Annotated[bytes, Depends(_request_sha256)],
    idempotency_key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            pattern=patterns.IDEMPOTENCY_KEY,
            max_length=200,
            description="A text of your choice, unique per intended change. A repetition with the same key gets the "
            f"first answer and {REPLAYED}: true, and changes nothing.",
            examples=["9f1c2d5e-create-web"],
        ),
    ] = None,
) -> Writer:
    return Writer(context, principal.holder, idempotency_key, request_sha256)


Write = Annotated[Writer, Depends(_writer)]
"""A parameter of a route that writes."""
