"""Maps, tables and words of pages: what they show of many rows, and of values that are missing or hostile."""

import pytest
from markupsafe import Markup

from libs.domain.approval import ApprovalKind
from services.pages.parts.approval_names import heading_of, name_of
from services.pages.parts.heatmap import PLACES_MAX
from services.pages.parts.place_map import COUNTS, region_map, reservation_map
from services.pages.parts.table import ROWS_MAX, Column, Table, is_name
from services.pages.parts.words import MINUS, aligned, spaced
from services.pages.rendering import Renderer
from services.pages.static_files import read_static_files


def counted(msbs: int) -> list[dict]:
    kinds = [f"hw-{kind:02d}" for kind in range(12)]
    one = dict.fromkeys(COUNTS, 3) | {"held_rru": 1.5, "target_rru": 1.5}
    places = [(f"dc-{msb % 9}", f"msb-{msb:03d}") for msb in range(msbs)]
    return [{"datacenter": dc, "msb": msb, "hardware_type": kind, **one} for dc, msb in places for kind in kinds]


def test_a_map_of_many_msbs_shows_datacenters_and_says_so() -> None:
    small, large = counted(PLACES_MAX), counted(PLACES_MAX + 1)
    assert (len(region_map(small, "bound", None).rows), region_map(small, "bound", None).collapsed) == (
        PLACES_MAX,
        False,
    )
    map_ = region_map(large, "bound", None)
    assert (len(map_.rows), map_.collapsed, map_.places) == (9, True, PLACES_MAX + 1)
    assert map_.totals[-1].text == f"{(PLACES_MAX + 1) * 12 * 3:,}"


def test_the_margin_marks_the_first_worst_msb() -> None:
    map_ = reservation_map(counted(3), 10, survives=True)
    assert [row.worst for row in map_.rows] == [True, False, False]
    assert [row.ends[1].text for row in map_.rows] == ["36", "36", "36"]
    assert not any(row.worst for row in reservation_map(counted(3), 10, survives=False).rows)


def test_figures_of_a_margin_have_their_points_in_one_line() -> None:
    items = counted(3)
    items[0]["held_rru"] = 1.75
    assert aligned([3.25, 1, -0.5, 199.5]) == ["3.25", "1.00", f"{MINUS}0.50", "199.50"]
    assert aligned([6.47, 45_400]) == ["6.47", "45,400"]
    assert aligned([3, None, 1200]) == ["3", "–", "1,200"]
    assert [row.ends[0].text for row in reservation_map(items, 10, survives=True).rows] == ["18.25", "18.00", "18.00"]


def table(rows: list[dict], **query: str) -> Table:
    columns = [Column("name", "Name", lambda r: r["name"]), Column("size", "Size", lambda r: r["size"], number=True)]
    return Table(name="t", caption="T", columns=columns, rows=rows, path="/t", query=query, empty="Nothing.")


def test_a_table_keeps_ties_in_place_and_missing_values_last() -> None:
    rows = [{"name": name, "size": size} for name, size in (("a", 1), ("b", None), ("c", 2), ("d", 1))]
    assert [r["name"] for r in table(rows, sort="-size").found] == ["c", "a", "d", "b"]
    assert [r["name"] for r in table(rows, sort="size").found] == ["a", "d", "c", "b"]
    assert [r["name"] for r in table(rows, sort="nothing").found] == ["a", "b", "c", "d"]


def test_a_large_table_shows_its_first_rows_and_csv_has_all() -> None:
    rows = [{"name": f"n{at}", "size": at} for at in range(ROWS_MAX + 50)]
    assert len(table(rows).shown) == ROWS_MAX
    assert len(table(rows).csv().splitlines()) == ROWS_MAX + 51


@pytest.mark.parametrize(
    ("cell", "whole"),
    [
        ("server-000001", True),
        (Markup('<a href="/regions/west/reservations/shared-buffer-r5.metal">shared-buffer-r5.metal</a>'), True),
        (Markup('<a href="/regions/far-west">west</a>'), False),
        (-17, False),
        ("at msb-01", False),
        ("a-" * 20, False),
    ],
)
def test_a_name_with_hyphens_stays_in_one_line(cell: object, whole: bool) -> None:
    assert is_name(cell) is whole
    column = Column("n", "N", lambda row: row)
    rows = Table(name="t", caption="T", columns=[column, column], rows=[cell], path="/t", query={}, empty="Nothing.")
    page = Renderer(read_static_files())._environment.from_string(
        '{% from "parts.html" import sortable with context %}{{ sortable(table) }}'
    )
    assert page.render(table=rows, command="").count('class="name"') == 2 * whole


def test_identifiers_become_words_with_the_usual_capitals() -> None:
    words = {
        "capacity_rru": "Capacity RRU",
        "survives_msb_loss": "Survives MSB loss",
        "CapacityLost": "Capacity lost",
        "rru": "RRU",
        "window_s": "Window (s)",
        "amsb": "Amsb",
    }
    assert {one: spaced(one) for one in words} == words


def test_csv_holds_no_formulas() -> None:
    rows = [{"name": name, "size": -1} for name in ("=1+1", "+1", "-1", "@x")]
    assert [line.partition(",")[0] for line in table(rows).csv().splitlines()[1:]] == ["'=1+1", "'+1", "'-1", "'@x"]


@pytest.mark.parametrize(
    ("reservation", "kind", "name", "heading"),
    [
        ("web", "capacity_request", "web", "web"),
        (None, "below_hold", "moves below a promise", "Moves below a promise"),
        (None, "a_new_kind", "a new kind", "A new kind"),
    ],
)
def test_an_approval_is_called_by_its_reservation_or_by_what_it_changes(
    reservation: str | None, kind: str, name: str, heading: str
) -> None:
    approval = {"reservation": reservation, "kind": kind}
    assert (name_of(approval), heading_of(approval)) == (name, heading)


def test_every_kind_of_approval_that_names_no_reservation_has_words() -> None:
    known = {kind.value for kind in ApprovalKind} - {"capacity_request"}
    assert {kind for kind in known if name_of({"reservation": None, "kind": kind}) != spaced(kind).lower()} == known
