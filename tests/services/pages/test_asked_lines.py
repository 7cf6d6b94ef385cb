"""Pictures of the past draw what was granted beside what was asked for, where it is known."""

import pytest

from services.pages.parts.asked_lines import asked_lines

BOTH = [("f6", "asked for"), ("f3", "granted of it")]


@pytest.mark.parametrize(
    ("asked", "granted", "lines", "words"),
    [
        ([9.0, 9.0], [9.0, 9.0], 1, [("f6", "asked for and granted")]),
        ([9.0, 9.0], [9.0, 9.0 - 1e-12], 1, [("f6", "asked for and granted")]),
        ([9.0, 12.0], [9.0, 9.0], 2, BOTH),
        ([9.0, 12.0], [None, 0.0], 2, BOTH),
        ([9.0, 9.0], [None, 9.0], 1, [("f6", "asked for")]),
        ([9.0, None], [9.0, None], 1, [("f6", "asked for and granted")]),
    ],
)
def test_what_was_granted_has_a_line_only_where_it_was_less(
    asked: list[float | None], granted: list[float | None], lines: int, words: list[tuple[str, str]]
) -> None:
    """None: an earlier version did not keep it. Without what was asked for, nothing was watched."""
    rows = [{"capacity_rru": a, "granted_rru": g} for a, g in zip(asked, granted, strict=True)]
    found, told = asked_lines(rows)
    assert [one.values for one in found] == [asked, granted][:lines]
    assert told == words
