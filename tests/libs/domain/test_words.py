"""Amounts agree with their nouns."""

from libs.domain.words import cost_units, counted


def test_one_is_singular_and_other_amounts_are_not() -> None:
    assert [cost_units(amount) for amount in (1, 1.0, 0.0, 1.5, 1234.5)] == [
        *("1 cost unit", "1 cost unit", "0 cost units", "1.5 cost units", "1,234.5 cost units")
    ]
    assert counted(1_234_567, "server") == "1,234,567 servers"
    assert (counted(1, "entry is", "entries are"), counted(2, "entry is", "entries are")) == (
        *("1 entry is", "2 entries are"),
    )
