"""What a request handler gets from the process it runs in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from libs.reconcile.clock import Clock
from libs.store.database import Database


@dataclass(frozen=True, slots=True)
class WebContext:
    """The database and the clock that every route of an app uses."""

    database: Database
    clock: Clock


async def _context(request: Request) -> WebContext:
    context = request.app.state.context
    assert isinstance(context, WebContext)
    return context


Context = Annotated[WebContext, Depends(_context)]
"""A parameter of a route that wants the database and the clock."""
