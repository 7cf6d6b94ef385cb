"""The context of a request handler: the objects of its process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from libs.reconcile.clock import Clock
from libs.store.platform.database import Database


@dataclass(frozen=True, slots=True)
class WebContext:
    """The database and the clock of an app."""

    database: Database
    clock: Clock


async def _context(request: Request) -> WebContext:
    context = request.app.state.context
    assert isinstance(context, WebContext)
    return context


Context = Annotated[WebContext, Depends(_context)]
"""A parameter of a route that needs the database and the clock."""
