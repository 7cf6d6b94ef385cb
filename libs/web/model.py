"""Base models of request and response bodies. Requests with unknown fields or infinite numbers are refused."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Generic, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    StringConstraints,
    field_validator,
)

from libs.domain.validation_words import TIME
from libs.web import patterns

T = TypeVar("T")

ID_MAX = 2**63 - 1
"""The largest id or generation of a row."""


class RequestModel(BaseModel):
    """A request body. Unknown fields, NaN and infinity are refused."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, str_max_length=10_000)

    @field_validator("*")
    @classmethod
    def _no_nul(cls, value: object) -> object:
        """Refuse NUL, the only character that PostgreSQL cannot store in a text."""
        if isinstance(value, str) and "\0" in value:
            raise ValueError("must not contain the character NUL")
        return value


class ResponseModel(BaseModel):
    """A response body."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)


class PageOf(ResponseModel, Generic[T]):
    """One page of a list."""

    items: list[T]
    next_cursor: str | None = Field(description="Pass it as cursor for the next page; null on the last one")


Number = Annotated[float, Strict()]
"""A JSON number, and no text that looks like one."""
Flag = Annotated[bool, Strict()]
Whole = Annotated[int, Strict()]
Name = Annotated[
    str,
    StringConstraints(pattern=patterns.NAME, min_length=1, max_length=100),
    Field(description="Letters, digits and . _ : / - , beginning with a letter or a digit"),
]
"""A name that is safe in a URL, a log line and a shell."""
SomeName = Annotated[str, StringConstraints(pattern=patterns.LINE, min_length=1, max_length=200)]
"""A name to search for. It is wider than Name, because imported names may be wider."""

Owner = Annotated[
    str,
    StringConstraints(pattern=patterns.REASON, min_length=1, max_length=200),
    Field(description="An owner of reservations: one line. Quotas and tokens name the same owners"),
]
"""It is wider than Name, because imported owners and groups of an issuer may be wider."""

Person = Annotated[
    str,
    StringConstraints(pattern=patterns.LINE, min_length=1, max_length=300),
    Field(
        description="A person, as in /v1/whoami: the name of an issuer, | and the subject. Four eyes compare persons",
        examples=["corp|248289761001"],
    ),
]
"""A person, or any name that an admin gives one."""


def _written(moment: object) -> object:
    """Refuse numbers. The library would take them for seconds or, above a size, for milliseconds."""
    if isinstance(moment, (int, float)) or (isinstance(moment, str) and _is_number(moment)):
        raise ValueError(f"must be {TIME}")
    return moment


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


Time = Annotated[AwareDatetime, BeforeValidator(_written)]
"""A time of a request, with its offset."""


def _sensible(moment: datetime) -> datetime:
    if not 2000 <= moment.year <= 2200:
        raise ValueError("must be in the years 2000 to 2200")
    return moment


Moment = Annotated[Time, AfterValidator(_sensible)]
"""A time in the years 2000 to 2200. Later times may lie after year 9999 in UTC, and cannot be read back."""
