"""Compare-and-swap over HTTP: `ETag` is the generation of a row. `If-Match` is the generation that the client
has read.
"""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Depends, Header

from libs.web.model import ID_MAX
from libs.web.problems import FieldError, Problem


def etag(generation: int) -> dict[str, str]:
    """Return the ETag header of a response about one row."""
    return {"ETag": f'"{generation}"'}


DEMANDED = "x-demanded"
"""Mark of a header that a write needs, in the schema of its parameter. OpenAPI then tells that it is required."""


def _if_match(
    if_match: Annotated[
        str | None,
        Header(
            alias="If-Match",
            description='The generation that you have read, as its ETag gave it: "7". Answers 428 without it.',
            examples=['"7"'],
            json_schema_extra={DEMANDED: True},
        ),
    ] = None,
) -> int:
    if if_match is None:
        detail = 'This write needs If-Match: read the thing first and send its ETag, such as If-Match: "7".'
        errors = [FieldError(field="If-Match", location="header", code="missing", message="is required")]
        raise Problem(428, "precondition_required", detail, errors=errors)
    return _generation(if_match)


def _if_match_given(
    if_match: Annotated[
        str | None,
        Header(
            alias="If-Match",
            description='The generation that you have read, such as "7". Answers 409 if it is not the present one.',
            examples=['"7"'],
        ),
    ] = None,
) -> int | None:
    return None if if_match is None else _generation(if_match)


def _generation(if_match: str) -> int:
    found = re.fullmatch(r'"([0-9]{1,19})"', if_match, re.ASCII)
    if found is None or int(found[1]) > ID_MAX:
        message = 'must be one generation in double quotes, such as "7"'
        errors = [FieldError(field="If-Match", location="header", code="bad_generation", message=message)]
        raise Problem(400, "bad_request", f"If-Match {message}.", errors=errors)
    return int(found[1])


ExpectedGeneration = Annotated[int, Depends(_if_match)]
"""A parameter of a route that changes a row: the generation that the client has read.

Raises Problem: 428 without If-Match, 400 if it is not a generation. Pass it to the store, whose StaleGeneration becomes
a 409.
"""

GivenGeneration = Annotated[int | None, Depends(_if_match_given)]
"""A parameter of a route that does without the generation that the client has read; None: not given.

Raises Problem (400) if it is not a generation.
"""
