"""A page that is one list of the API as a table: its columns, filters and form are declared, and all else is here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from libs.domain.page import ITEMS_MAX
from services.pages.api import ApiProblem, Json, Part
from services.pages.form_fields import WrongField, read_moment
from services.pages.parts.table import ROWS_MAX, Choice, Column, Field, Table
from services.pages.parts.words import spaced
from services.pages.views.editor import Editor, Opened, open_row
from services.pages.visit import Shown, View, Visit

TIME = "datetime-local"
"""Kind of a field with a time in UTC."""
_OVER_MORE = frozenset({"q", "page", "format"})
"""Parameters for which a page reads ITEMS_MAX rows, as for `sort` where the API has no order. It reads no more than it
shows for the others, to be quick.
"""


def no_choices(visit: Visit, rows: Sequence[Json]) -> Sequence[Choice]:
    """Return no filter with fixed values."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The declaration of a page.

    noun      as in /v1/NOUN and `plimsoll get NOUN`
    section   the entry of the navigation
    columns   the columns of the table
    filters   parameters of the URL that go to the API as they are
    choices   filters with fixed values, which may come from the rows
    fields    filters that a person types; their keys are in `filters`
    fixed     parameters that the API always gets
    order     what the table is sorted by at first, as in `sort`
    orders    each column -> its `order` in the API; empty: the page sorts what it reads
    intro     a sentence above the table
    empty     a sentence for a list without rows, which says what to do
    editor    the form about a row; None: rows have none
    """

    noun: str
    section: str
    title: str
    columns: Callable[[Visit], Sequence[Column]]
    empty: str
    filters: Sequence[str] = ()
    choices: Callable[[Visit, Sequence[Json]], Sequence[Choice]] = no_choices
    fields: Sequence[Field] = ()
    fixed: Mapping[str, str] = field(default_factory=dict)
    order: str = ""
    orders: Mapping[str, str] = field(default_factory=dict)
    intro: str = ""
    editor: Editor | None = None


def page_of(listing: Listing) -> View:
    """Return the view of a declared page. In the path of a region, it shows the items of this region."""
    return partial(_show, listing)


def _show(listing: Listing, visit: Visit) -> Shown | Response:
    opened: Opened | None = None
    if listing.editor is not None:
        found = open_row(listing.editor, visit)
        if isinstance(found, Response):
            return found
        opened = found
    region: str | None = visit.request.path_params.get("region")
    query = {**({} if region is None else {"region": region}), **_filters(listing, visit), **listing.fixed}
    where = [part for key, value in query.items() for part in ("--where", f"{key}={value}")]
    order = _order(listing, visit)
    if order:
        query["order"] = order
        where.append(f"--order={order}")
    over_more = _OVER_MORE if listing.orders else _OVER_MORE | {"sort"}
    most = ITEMS_MAX if visit.query.keys() & over_more else ROWS_MAX
    part, wrong = Part([], None), ""
    try:
        part = visit.api.part(f"/v1/{listing.noun}", most=most, cursor=visit.query.get("after"), **query)
    except ApiProblem as problem:
        wrong = _wrong_filters(listing, visit, problem)
    choices = listing.choices(visit, part.items)
    editor = listing.editor
    table = Table(
        name=listing.section,
        caption=listing.title if region is None else f"{listing.title} of {region}",
        columns=listing.columns(visit),
        rows=part.items,
        path=visit.path,
        query={name: value for name, value in visit.query.items() if name not in ("open", "done")},
        choices=choices,
        fields=listing.fields,
        also=listing.filters,
        empty=listing.empty,
        trouble=wrong,
        order=listing.order,
        ordered=bool(listing.orders),
        next_cursor=part.next_cursor,
        act=None if editor is None else partial(editor.link, visit),
        command=(command := ("get", listing.noun, *where)),
    )
    untold = [key for key in listing.filters if key in visit.query.keys() - table.filter_keys]
    others = ", ".join(f"{spaced(key).lower()} {visit.query[key]}" for key in untold)
    return Shown(
        template="listing.html",
        title=listing.title,
        region=region,
        section=listing.section,
        command=command,
        sources=[f"/v1/{listing.noun}" + (f"?{urlencode(query)}" if query else "")],
        table=table,
        live=opened is None,
        status=422 if wrong else 200 if opened is None else opened.status,
        values={
            "intro": listing.intro,
            "note": f"Only those of {others}." if others else "",
            "editor": editor,
            "opened": opened,
        },
    )


def _filters(listing: Listing, visit: Visit) -> dict[str, Any]:
    """Return the filters of the URL for the API. The API answers what it cannot read."""
    times = {one.key for one in listing.fields if one.kind == TIME}
    found = {}
    for key in listing.filters:
        if key in visit.query:
            try:
                found[key] = read_moment(visit.query, key) if key in times else visit.query[key]
            except WrongField:
                found[key] = visit.query[key]
    return found


def _wrong_filters(listing: Listing, visit: Visit, problem: ApiProblem) -> str:
    """Return what is wrong with filters, for the place of the rows: the filters stay, and can be changed.

    Raises the problem if it has another cause, and for a file, which has no place for words.
    """
    others = problem.fields.keys() - {*listing.filters}
    if problem.status != 422 or not problem.fields or others or "format" in visit.query:
        raise problem
    return "; ".join(f"{spaced(field)}: {message}" for field, message in problem.fields.items())


def _order(listing: Listing, visit: Visit) -> str:
    """Return the API's order that the URL asks for; "" if the API has none for this list."""
    asked = visit.query.get("sort", listing.order)
    key = asked.removeprefix("-")
    order = listing.orders.get(key, "")
    return f"-{order}" if order and asked != key else order


def values_of_rows(
    key: str, title: str, rows: Sequence[Json], visit: Visit, words: Callable[[str], str] = str
) -> Choice:
    """Return the filter by a field, with the values that rows have and the one in the URL."""
    values = {row[key] for row in rows} | ({visit.query[key]} if key in visit.query else set())
    return Choice(key, title, [(one, words(one)) for one in sorted(values)])
