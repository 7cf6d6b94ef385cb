"""Messages of the library that checks values, as people read them."""

from datetime import datetime
from typing import Annotated, Literal

import pytest
from pydantic import AfterValidator, AwareDatetime, Field, FiniteFloat, StrictFloat, TypeAdapter, ValidationError

from libs.domain.validation_words import without_library_words


def refuse(value: object) -> object:
    raise ValueError("must be blue")


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (Annotated[dict[str, int], Field(min_length=1)], {}, "must have at least 1 item"),
        (Annotated[str, Field(max_length=2)], "abc", "must have at most 2 characters"),
        (Annotated[int, Field(gt=0)], 0, "must be more than 0"),
        (Annotated[int, Field(ge=1)], 0, "must be at least 1"),
        (Annotated[float, Field(lt=1)], 1.0, "must be less than 1"),
        (Annotated[float, Field(le=0.9)], 2.0, "must be at most 0.9"),
        (FiniteFloat, float("nan"), "must be a finite number"),
        (StrictFloat, "x", "must be a number"),
        (float, "x", "must be a number"),
        (int, "x", "must be a whole number"),
        (int, 1.5, "must be a whole number"),
        (bool, "x", "must be true or false"),
        (str, 5, "must be a text"),
        (list[str], "x", "must be a list"),
        (dict[str, str], "x", "must be a JSON object"),
        (datetime, "soon", "must be a time with its offset from UTC, such as 2026-11-02T09:30:00Z"),
        (datetime, "2026-13-01", "must be a time with its offset from UTC, such as 2026-11-02T09:30:00Z"),
        (AwareDatetime, "2026-11-02T09:30", "must be a time with its offset from UTC, such as 2026-11-02T09:30:00Z"),
        (Literal["a", "b"], "c", "must be 'a' or 'b'"),
        (Annotated[str, AfterValidator(refuse)], "x", "must be blue"),
    ],
)
def test_what_is_wrong_is_said_without_the_words_of_the_library(kind: object, value: object, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value)
    assert without_library_words(caught.value.errors()[0]["msg"]) == said
