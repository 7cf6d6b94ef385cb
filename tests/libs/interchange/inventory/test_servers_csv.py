"""Read CSV files of servers."""

import io
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.domain.inventory import Inventory
from libs.interchange.files.errors import InterchangeError
from libs.interchange.inventory import servers_csv
from libs.interchange.inventory.field_mapping import mapping_of
from libs.interchange.inventory.inventory import dump_inventory, load_inventory, region_of
from libs.interchange.inventory.servers_csv import CSV_FIELDS, load_csv

HEADER = "server,datacenter,msb,rack,hardware_type"


def read(text: str | bytes, **options: object) -> Inventory:
    content = text if isinstance(text, bytes) else text.encode()
    return load_csv(io.BytesIO(content), "assets.csv", mapping_of(CSV_FIELDS, **options))  # type: ignore[arg-type]


def test_the_documented_columns() -> None:
    inventory = read(
        "\ufeff" + HEADER + ",unavailability,vcpu,memory_gib,remark\r\n"
        's-1,dc-1,msb-1,r-1,hw-a,planned,96,384,"a, b\r\nc"\r\n'
        "\r\n"
        " s-2 ,dc-1,msb-2,r-2,hw-a,,96,384,\r\n"
    )
    assert inventory.server.tolist() == ["s-1", "s-2"]
    assert inventory.unavailability.tolist() == ["planned", "none"]
    assert inventory.attributes() == {"hw-a": {"vcpu": 96, "memory_gib": 384}}


def test_other_names_and_what_to_take_where_a_cell_is_empty() -> None:
    inventory = read(
        "Host,Site,Row,Cab,SKU,State\na,fra,1,7,x,\nb,fra,1,8,,unplanned\n",
        keys=[
            "server=Host",
            "datacenter=Site",
            "msb=Site+Row",
            "rack=Row+Cab",
            "hardware_type=SKU",
            "unavailability=State",
        ],
        defaults=["hardware_type=unknown"],
    )
    assert inventory.topology.msbs.tolist() == ["fra-1"]
    assert inventory.topology.racks.tolist() == ["1-7", "1-8"]
    assert inventory.hardware_types[inventory.hardware_type].tolist() == ["x", "unknown"]
    assert inventory.unavailability.tolist() == ["none", "unplanned"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no header"),
        (HEADER + "\n", "holds no servers"),
        ("server,rack,msb,datacenter\na,b,c,d\n", "there is no column 'hardware_type' among server, rack, msb, datac"),
        (
            "host,dc,msb,rack,sku\na,b,c,d,e\n",
            "there are no columns 'server', 'datacenter', 'hardware_type' among host, dc, msb, rack, sku: name those "
            "that have them with --map server=COLUMN --map datacenter=COLUMN --map hardware_type=COLUMN",
        ),
        (HEADER.replace(",", ";") + "\n", "has one column, 'server;datacenter;msb;rack;hardware_type': put commas"),
        (HEADER + "\n\n,dc,m,r,hw\n", "line 3: server in line 3 has nothing in column server"),
        (HEADER + ',remark\ns-1,dc,m,r,hw,"a\nb"\ns-1,dc,m,r,hw,\n', "line 4: this server appears twice"),
        ("server,server\n", "has two columns called 'server'"),
        (HEADER + "\ns-1,dc,m\n", "line 2: has 3 values; the header has 5"),
        (HEADER + "\ns-1,dc,,r,hw\n", "server s-1 has nothing in column msb: name the column with --map msb=COLUMN"),
        (HEADER + "\ns-1,dc,m,r,hw\ns-1,dc,m,r,hw\n", "line 3: this server appears twice"),
        (HEADER + "\ns-1,dc,m,r,hw\ns-2,dc,m2,r,hw\n", "line 3: this rack is in another MSB"),
        (HEADER + ",vcpu\ns-1,dc,m,r,hw,nan\n", "'nan' is not a number"),
        (HEADER + ",vcpu\ns-1,dc,m,r,hw,1e400\n", "'1e400' is not a number"),
        (HEADER + ",unavailability\ns-1,dc,m,r,hw,broken\n", "'broken' is not one of none, planned, unplanned"),
        (HEADER + '\n"s-1,dc\n', "line 2: unexpected end of data"),
        (HEADER.encode() + b"\n\xff,dc,m,r,hw\n", "is not UTF-8: invalid start byte after byte 41"),
        ("a," * 300 + "\n", "columns; at most 200"),
        (HEADER + "\ns\u202e,dc,m,r,hw\n", "do not print"),
    ],
)
def test_what_is_wrong_is_said(text: str, says: str) -> None:
    with pytest.raises(InterchangeError) as error:
        read(text)
    assert says in str(error.value)


def test_a_row_that_differs_from_the_others_of_its_rack_is_the_wrong_one() -> None:
    rows = [f"s-{k},dc,{'m2' if k == 0 else 'm'},r,hw" for k in range(4)]
    with pytest.raises(InterchangeError) as error:
        read("\n".join([HEADER, *rows]))
    assert str(error.value).count("another MSB") == 1
    assert "line 2: this rack is in another MSB in other rows" in str(error.value)


def test_a_file_is_bounded_by_lines_and_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers_csv, "_LINE_BYTES_MAX", 100)
    with pytest.raises(InterchangeError, match="line of more than"):
        read("x" * 200)
    monkeypatch.setattr(servers_csv, "FILE_BYTES_MAX", 100)
    with pytest.raises(InterchangeError, match="is longer than"):
        read(HEADER + "\n" + "s,dc,m,r,hw\n" * 20)


cells = st.text(max_size=8)


@settings(deadline=None, max_examples=150)
@given(rows=st.lists(st.lists(cells, min_size=5, max_size=6), max_size=4), raw=st.binary(max_size=60))
def test_whatever_a_file_says_it_is_read_or_refused_by_name(rows: list[list[str]], raw: bytes) -> None:
    content = (HEADER + "\n" + "\n".join(",".join(row) for row in rows)).encode() + raw
    with suppress(InterchangeError):
        inventory = read(content)
        again = load_inventory({"servers.parquet": dump_inventory(inventory)})
        assert again.server.tolist() == inventory.server.tolist()
        assert again.topology.racks[again.rack].tolist() == inventory.topology.racks[inventory.rack].tolist()
        assert again.unavailability.tolist() == inventory.unavailability.tolist()


def test_further_domains_come_from_columns_and_from_other_names() -> None:
    text = HEADER + ",domain:network_block,PDU\ns-1,dc-1,m,r,hw-a,b-1,p9\ns-2,dc-1,m,r,hw-a,,p8\n"
    inventory = read(text, keys=["domain:power_row=PDU"], defaults=["domain:cooling={msb}"])
    kinds = inventory.topology.kinds
    assert [kind.name for kind in kinds] == ["cooling", "network_block", "power_row"]
    found = {kind.name: kind.names_of(inventory.domain[:, j]).tolist() for j, kind in enumerate(kinds)}
    assert found == {"cooling": ["m", "m"], "network_block": ["b-1", None], "power_row": ["p9", "p8"]}
    again = load_inventory({"servers.parquet": dump_inventory(inventory)})
    assert [kind.name for kind in again.topology.kinds] == [kind.name for kind in kinds]
    assert again.domain.tolist() == inventory.domain.tolist()
    stored = region_of(inventory, "west").snapshot
    assert stored.topology.kinds == kinds
    assert stored.servers.domain.tolist() == inventory.domain.tolist()


@pytest.mark.parametrize(
    ("text", "keys", "says"),
    [
        (",domain:Power Row\ns-1,dc-1,m,r,hw-a,x\n", (), "is not a kind"),
        (",domain:rack\ns-1,dc-1,m,r,hw-a,x\n", (), "is not a kind"),
        ("\ns-1,dc-1,m,r,hw-a\n", ("domain:power_row=PDU",), "there is no column 'PDU'"),
        (",PDU\ns-1,dc-1,m,r,hw-a,\n", ("domain:power_row=PDU",), "no server has a column PDU"),
        ("\ns-1,dc-1,m,r,hw-a\n", ("domain:Power=PDU",), "is not a field; fields are"),
    ],
)
def test_wrong_kinds_of_domain_are_named(text: str, keys: tuple[str, ...], says: str) -> None:
    with pytest.raises(InterchangeError, match=says) as caught:
        read(HEADER + text, keys=keys)
    assert str(caught.value.problems[0].field).startswith("domain:")
