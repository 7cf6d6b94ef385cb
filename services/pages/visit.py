"""A visit: one request of a person for a page, with the API as they may use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import quote

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from libs.domain.principal import Role
from services.pages.api import Api, Json
from services.pages.parts.table import Table
from services.pages.parts.words import shell_line

LIVE_S = 10
"""Seconds between two polls of a live part."""


@dataclass(frozen=True)
class Visit:
    """Everything that a view needs to make its page.

    now    the platform's time
    who    the answer of /v1/whoami
    form   the fields of a POST; empty for a GET
    """

    request: Request
    api: Api
    who: Json
    now: datetime
    form: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def query(self) -> dict[str, str]:
        """The parameters of the URL. The first of a repeated one counts. Empty ones are left out."""
        return {name: value for name, value in reversed(self.request.query_params.multi_items()) if value}

    @property
    def path(self) -> str:
        """The path of the page."""
        return self.request.url.path

    @cached_property
    def regions(self) -> list[Json]:
        """All regions."""
        return self.api.items("/v1/regions")

    def place(self, name: str) -> str:
        """Return a parameter of the path."""
        return str(self.request.path_params[name])

    def may(self, role: Role) -> bool:
        """Return whether the person has the permissions of a role. The API decides; this only explains buttons."""
        return Role(self.who["role"]).includes(role)

    def link(self, region: str, *parts: str) -> str:
        """Return the path of a page of a region, for templates."""
        return to_region(region, *parts)

    @property
    def is_fragment(self) -> bool:
        """Whether htmx asks for the live part alone."""
        return self.request.headers.get("HX-Request") == "true"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A page to show.

    template   the file of its main part
    island     the file of the part that htmx asks for; "": the main part
    command    the arguments of the `plimsoll` line that tells the same
    sources    paths of the API behind it
    values     what the template uses
    table      the main table, which the page also gives as CSV
    tables     further tables, each with a key of its own
    live       whether the main part polls
    status     of the answer
    section    the entry of the navigation that is marked
    """

    template: str
    title: str
    command: tuple[str, ...]
    sources: Sequence[str]
    values: Mapping[str, Any] = field(default_factory=dict)
    table: Table | None = None
    tables: Sequence[Table] = ()
    live: bool = False
    status: int = 200
    section: str = ""
    island: str = ""
    region: str | None = None

    @property
    def command_line(self) -> str:
        """The command as people copy it into a shell."""
        return shell_line(self.command)

    def csv_table(self, key: str) -> Table | None:
        """Return the table with this key; "" for the main one."""
        known = [*([self.table] if self.table is not None else []), *self.tables]
        return next((one for one in known if one.key == key), None)


View = Callable[[Visit], Shown | Response]


def segment(name: str) -> str:
    """Return a name as one segment of a path."""
    return quote(name, safe="")


def link_markup(path: str, words: str) -> Markup:
    """Return a link."""
    return Markup('<a href="{}">{}</a>').format(path, words)


def go_to(path: str) -> RedirectResponse:
    """Return the answer that leads to a page after a write."""
    return RedirectResponse(path, 303)


def to_region(region: str, *parts: str) -> str:
    """Return the path of a page of a region. Names may have slashes."""
    return "/".join(["", "regions", segment(region), *(quote(part, safe="/") for part in parts)])


def to_server(region: str, name: str) -> str:
    """Return the path of the page of a server, which tells why it is where it is."""
    return to_region(region, "servers", name)


def server_link(region: str, name: str) -> Markup:
    """Return the link to the page of a server."""
    return link_markup(to_server(region, name), name)
