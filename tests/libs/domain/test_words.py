"""Amounts agree with their nouns."""

import pytest

from libs.domain.words import as_sentence, cost_units, counted, rounded_down


def test_one_is_singular_and_other_amounts_are_not() -> None:
    assert [cost_units(amount) for amount in (1, 1.0, 0.0, 1.5, 1234.5)] == [
        *("1 cost unit", "1 cost unit", "0 cost units", "1.5 cost units", "1,234.5 cost units")
    ]
    assert counted(1_234_567, "server") == "1,234,567 servers"
    assert (counted(1, "entry is", "entries are"), counted(2, "entry is", "entries are")) == (
        *("1 entry is", "2 entries are"),
    )


def test_a_clause_becomes_a_sentence_with_one_mark_at_its_end_and_its_names_as_they_are() -> None:
    said = ("region West has an MSB", "did you mean product-0?", "It is over.", "")
    told = ("Region West has an MSB.", "Did you mean product-0?", "It is over.", ".")
    assert tuple(map(as_sentence, said)) == told


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        (0.0, "0"),
        (-1.0, "0"),
        (2.0 / 3, "0.666666"),
        (0.1 + 0.2, "0.3"),
        (8.999999999999998, "9"),
        (12345.678, "12345.6"),
        (1_234_567.89, "1234567"),
        (1e-7 / 3, "3.33333e-08"),
        (1e12, "1000000000000"),
    ],
)
def test_amounts_are_rounded_down_and_never_up(amount: float, said: str) -> None:
    assert rounded_down(amount) == said
