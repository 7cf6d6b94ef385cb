"""Filters use the names in the table."""

import pytest
import typer

from services.cli.columns import COLUMNS, FILTERS, columns_of
from services.cli.get import _pair
from services.cli.noun import Noun


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("current=web", ("current_reservation", "web")),
        ("TYPE=hw-01", ("hardware_type", "hw-01")),
        ("hardware-type=hw-01", ("hardware_type", "hw-01")),
        ("msb=msb-003", ("msb", "msb-003")),
        ("name=a=b", ("name", "a=b")),
    ],
)
def test_a_column_is_a_filter(typed: str, sent: tuple[str, str]) -> None:
    assert _pair(typed, FILTERS[Noun.SERVERS]) == sent


def test_domains_are_a_column_only_where_servers_have_some() -> None:
    items = [{"name": "server-00", "domains": {}}, {"name": "server-01", "domains": {}}]
    assert "DOMAINS" not in columns_of(Noun.SERVERS, items)
    items[1]["domains"] = {"network_block": "b0"}
    assert columns_of(Noun.SERVERS, items) == COLUMNS[Noun.SERVERS]


def test_what_was_granted_is_a_column_only_where_a_request_waits() -> None:
    items = [{"spec": {"capacity_rru": 30.0}, "status": {"granted_rru": rru}} for rru in (30.0, 30.0)]
    assert "GRANTED" not in columns_of(Noun.RESERVATIONS, items)
    items[1]["status"]["granted_rru"] = 20.0
    assert columns_of(Noun.RESERVATIONS, items) == COLUMNS[Noun.RESERVATIONS]


def test_what_is_renamed_is_a_column() -> None:
    for noun, renamed in FILTERS.items():
        headings = {heading.lower().replace(" ", "_"): path for heading, path in COLUMNS[noun].items()}
        assert renamed == {name: headings[name] for name in renamed}


def test_a_filter_without_a_value_says_how_to_write_it() -> None:
    with pytest.raises(typer.BadParameter, match="region=west"):
        _pair("region", {})
