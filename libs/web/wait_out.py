"""Waits of servers as JSON, for all resources that show them."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from libs.domain.departure_wait import Level, WaitsFor
from libs.web.model import ResponseModel


class ServerWaitOut(ResponseModel):
    """Why a server may not leave its reservation yet."""

    since: datetime
    waits_for: WaitsFor = Field(description="What would let it leave, for clients to match")
    message: str = Field(description="For people: the RRU that its reservation would lack, and what it waits for")


class DepartureWaitOut(ResponseModel):
    """The servers of one reservation that wait to leave it."""

    reservation_id: int
    reservation: str
    servers: int
    since: datetime = Field(description="Since when the first of them waits")
    level: Level = Field(
        description="hold: the next server is needed even while all MSBs are up; survive: after the loss of one"
    )
    keeps_rru: float = Field(description="What the reservation must keep at that level")
    lacks_rru: float = Field(description="What it would lack without the next server: the least of all that wait")
    waits_for: WaitsFor = Field(description="What would let the next server leave, for clients to match")
    moves: int = Field(description="Servers on their way to the reservation for good, with a move")
    replacements: int = Field(description="Those of `moves` that come from a shared buffer")
    loans: int = Field(description="Servers on their way to it that are lent for the time of an exchange")
    queued: int = Field(description="Free servers for it whose moves the bounds of the mover hold back")
    approval_id: int | None = Field(description="The approval that it waits for; null: another cause")
    approval_state: str | None = Field(description="State of that approval: pending, rejected or over")
    message: str = Field(description="For people")
