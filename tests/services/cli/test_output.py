"""Check tables and documents for people, on a terminal and in a pipe."""

import io

import pytest
from rich.console import Console

from services.cli import output

ROWS = [
    {"id": 1, "name": "a-rather-long-name-000001", "rru": 2.5, "said": "needs 21 more hw-04 outside msb-006; 17 free"},
    {"id": 12, "name": "b", "rru": None, "said": "all is well"},
]
COLUMNS = {"ID": "id", "NAME": "name", "RRU": "rru", "MESSAGE": "said"}


def printed(monkeypatch: pytest.MonkeyPatch, *, terminal: bool, width: int, document: dict | None = None) -> list[str]:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=width, color_system=None)
    monkeypatch.setattr(output, "stdout", console)
    if document is None:
        output.print_rows(ROWS, COLUMNS)
    else:
        output.print_document(document)
    return stream.getvalue().splitlines()


def test_a_program_gets_a_line_per_row(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(monkeypatch, terminal=False, width=40) == [
        "ID  NAME                       RRU  MESSAGE",
        " 1  a-rather-long-name-000001  2.5  needs 21 more hw-04 outside msb-006; 17 free",
        "12  b                            -  all is well",
    ]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_terminal_wraps_prose_and_never_a_name(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    lines = printed(monkeypatch, terminal=True, width=width)
    assert any("a-rather-long-name-000001  2.5  needs 21 more" in line for line in lines)
    assert max(map(len, lines)) <= max(width, len("ID  a-rather-long-name-000001  2.5  ") + 30)
    assert len(lines) == (4 if width < 80 else 3)


@pytest.mark.parametrize("width", [20, 27, 28])
def test_a_narrow_terminal_cuts_nothing_off(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=width, color_system=None)
    monkeypatch.setattr(output, "stdout", console)
    rows = [{"name": "server-000001", "type": "c5.metal", "in use": False}]
    output.print_rows(rows, {"NAME": "name", "TYPE": "type", "IN USE": "in use"})
    assert stream.getvalue().splitlines() == [
        "                         IN",
        "NAME           TYPE      USE",
        "server-000001  c5.metal  no",
    ]


def test_headings_of_several_words_take_lines_where_a_table_is_too_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"RESERVATION": "name", "FATAL MSBS": "msbs", "LOSSES SEEN": "losses"}
    rows = [{"name": "web", "msbs": 1, "losses": 12}]
    for width, lines in (
        (40, ["RESERVATION  FATAL MSBS  LOSSES SEEN", "web                   1           12"]),
        (30, ["             FATAL  LOSSES", "RESERVATION   MSBS    SEEN", "web              1      12"]),
    ):
        stream = io.StringIO()
        console = Console(file=stream, force_terminal=True, width=width, color_system=None)
        monkeypatch.setattr(output, "stdout", console)
        output.print_rows(rows, columns)
        assert stream.getvalue().splitlines() == lines


def test_an_empty_table_says_that_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    table, said = io.StringIO(), io.StringIO()
    monkeypatch.setattr(output, "stdout", Console(file=table, width=80, color_system=None))
    monkeypatch.setattr(output, "stderr", Console(file=said, width=80, color_system=None))
    output.print_rows([], COLUMNS)
    assert table.getvalue().splitlines() == ["ID  NAME  RRU  MESSAGE"]
    assert said.getvalue().splitlines() == ["There are none."]


def test_what_is_nested_in_a_row_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(output, "stdout", Console(file=stream, width=80, color_system=None))
    output.print_rows([{"name": "m5", "has": {"vcpu": 96.0, "memory_gib": None}}], {"NAME": "name", "HAS": "has"})
    assert stream.getvalue().splitlines() == ["NAME  HAS", "m5    vcpu 96, memory_gib -"]


def test_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    document = {
        "at": "2026-11-21T16:50:11.123456Z",
        "servers": [{"type": "hw-03", "now": 2}, {"type": "hw-10", "now": 0}],
        "conditions": [{"type": "Granted", "numbers": {"short": 0.5}}],
        "message": "one two three four five six seven",
    }
    assert printed(monkeypatch, terminal=True, width=24, document=document) == [
        "at: 2026-11-21 16:50:11Z",
        "servers:",
        "  type   now",
        "  hw-03  2",
        "  hw-10  0",
        "conditions:",
        "  - type: Granted",
        "    numbers:",
        "      short: 0.5",
        "message: one two three",
        "  four five six seven",
    ]


def test_less_than_the_whole_never_reads_as_the_whole() -> None:
    assert [output.percent(share) for share in (1.0, 0.9998, 0.99999, 0.9999999, 0.5)] == [
        "100.00%",
        "99.98%",
        "99.999%",
        "99.999%",
        "50.00%",
    ]
    assert [output.text_of(share) for share in (1.0, 0.9998, 0.9999999, 0.995, 0.5)] == [
        "1",
        "0.9998",
        "0.99999",
        "0.995",
        "0.5",
    ]


def test_the_residue_of_a_sum_is_nothing() -> None:
    assert [output.text_of(rru) for rru in (3.55e-15, -3.55e-12, 1e-6, 0.0)] == ["0", "0", "1e-06", "0"]


def test_a_table_has_the_digits_of_a_sentence() -> None:
    assert [output.text_of(saved) for saved in (0.8625, 0.08625, 1 / 3)] == ["0.8625", "0.08625", "0.3333"]
