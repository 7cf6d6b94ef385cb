"""Filters use the names in the table, and a name that no reservation has leads to its request."""

import re
from unittest.mock import create_autospec

import pytest
import typer

from services.cli.client import Client
from services.cli.columns import COLUMNS, FILTERS, columns_of
from services.cli.failure import CliFailure
from services.cli.get import _one, _pair, get, id_of
from services.cli.noun import Noun
from services.cli.output import Output


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("current=web", ("current_reservation", "web")),
        ("TYPE=hw-01", ("hardware_type", "hw-01")),
        ("hardware-type=hw-01", ("hardware_type", "hw-01")),
        ("msb=msb-003", ("msb", "msb-003")),
        ("name=a=b", ("name", "a=b")),
        ("at=2027-01-31", ("at", "2027-01-31T00:00:00+00:00")),
        ("since=2027-01-31T09:30+01:00", ("since", "2027-01-31T09:30:00+01:00")),
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


def test_the_name_of_a_request_without_a_reservation_tells_its_decision() -> None:
    """The owner of a rejected request asks to explain it."""
    status = {"phase": "rejected", "message": "All servers that huge may use come to 278 of 5000 RRU."}
    request = {"capacity_request_id": 20, "kind": "create", "status": status}
    client = create_autospec(Client, instance=True)
    client.items.side_effect = lambda path, **_: iter([request] if path == "/v1/capacity-requests" else [])
    told = "request 20 (create) is rejected: All servers that huge may use come to 278 of 5000 RRU. `plimsoll get"
    with pytest.raises(CliFailure, match=re.escape(told)):
        id_of(client, Noun.RESERVATIONS, "huge")
    with pytest.raises(CliFailure, match="none that these filters let pass is called huge"):
        id_of(client, Noun.RESERVATIONS, "huge", phase="deleted")
    client.items.side_effect = lambda *_, **__: iter([])
    with pytest.raises(CliFailure, match="none is called huge"):
        id_of(client, Noun.RESERVATIONS, "huge")


def test_a_name_of_digits_is_a_name_beside_a_region() -> None:
    """Reservation 3 is of another name, and so is one of two that are called 3."""
    named = {"east": [{"reservation_id": 9}], None: [{"reservation_id": 9}, {"reservation_id": 14}]}
    client = create_autospec(Client, instance=True)
    client.items.side_effect = lambda _, *, region=None, **__: iter(named[region])
    assert id_of(client, Noun.RESERVATIONS, "3") == id_of(client, Noun.RESERVATIONS, "3", region=None) == "3"
    assert id_of(client, Noun.RESERVATIONS, "3", region="east") == "9"
    with pytest.raises(CliFailure, match="2 are called web"):
        id_of(client, Noun.RESERVATIONS, "web")


def test_a_filter_beside_a_name_narrows_it_down_and_is_refused_beside_an_id() -> None:
    """The pages copy such a command."""
    client = create_autospec(Client, instance=True)
    client.items.side_effect = lambda *_, **__: iter([{"reservation_id": 9}])
    _one(client, Noun.RESERVATIONS, "web", {"region": "east"})
    client.items.assert_called_once_with("/v1/reservations", name="web", region="east")
    client.get.assert_called_once_with("/v1/reservations/9")
    with pytest.raises(typer.BadParameter, match="4711 is one object already: leave out --where"):
        _one(client, Noun.MOVES, "4711", {"region": "east"})


def test_the_losses_of_domains_are_as_many_as_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their list has one page, so its limit goes along with the question."""
    client = create_autospec(Client, instance=True)
    client.get.return_value = {"region": "west", "kind": "rack", "items": [{"domain": "rack-1"}, {"domain": "rack-2"}]}
    monkeypatch.setattr(Client, "connect", classmethod(lambda cls: client))
    get("domain-losses", None, ["region=west", "kind=rack"], limit=1, output=Output.JSON)
    client.get.assert_called_once_with("/v1/regions/west/domain-losses", kind="rack", limit="2")
    get("domain-losses", None, ["region=west"], limit=5000)
    client.get.assert_called_with("/v1/regions/west/domain-losses", limit="1000")


def test_chances_say_what_they_cover(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    item = dict.fromkeys(("reservation", "owner", "granted_rru", "fatal_msbs", "fatal_pairs", "chance"), 0)
    client = create_autospec(Client, instance=True)
    client.get.return_value = {"region": "west", "covers": "Only losses of MSBs count.", "items": [item, item]}
    monkeypatch.setattr(Client, "connect", classmethod(lambda cls: client))
    get("chances", where=["region=west"], limit=10)
    assert capsys.readouterr().err.count("Only losses of MSBs count.") == 1
