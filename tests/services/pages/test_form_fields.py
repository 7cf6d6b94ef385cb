"""Numbers of forms are finite, because requests to the API cannot have others."""

import pytest

from services.pages.form_fields import WrongField, names_text, read_names, read_number
from services.pages.views.execution_commands import _number


@pytest.mark.parametrize("text", ["nan", "-inf", "1e999", "ten"])
def test_only_finite_numbers_are_sent(text: str) -> None:
    with pytest.raises(WrongField, match=f"must be a number, not {text}"):
        read_number({"size": text}, "size")
    assert _number(text) == text, "the API says what is wrong with it"


def test_a_number_is_read() -> None:
    assert (read_number({"size": " 1.5 "}, "size"), _number("1.5")) == (1.5, 1.5)
    assert (read_number({}, "size"), _number(" ")) == (None, None)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (" row-1,, row 2 ,", ["row-1", "row 2"]),
        ('"row 2, east", row-3', ["row 2, east", "row-3"]),
        ('"the ""old"" one" ,"x', ['the "old" one', '"x']),
        ("", []),
    ],
)
def test_quotes_keep_a_name_with_a_comma_together(text: str, names: list[str]) -> None:
    assert read_names(text) == names
    assert read_names(names_text(names)) == names
