"""Waits of servers as JSON, for all resources that show them."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from libs.domain.departure_wait import Level, WaitsFor
from libs.web.model import ResponseModel


class ServerWaitOut(ResponseModel):
    """Why a server may not leave its reservation yet."""

    since: datetime
    waits_for: WaitsFor = Field(description="Identifier to match on: the event after which the server may leave")
    message: str = Field(
        description="For people: the RRU that the reservation would lack without the server, and the cause of the wait"
    )


class DepartureWaitOut(ResponseModel):
    """The servers of one reservation that wait to leave it."""

    reservation_id: int
    reservation: str
    servers: int
    since: datetime = Field(description="Start of the longest wait")
    level: Level = Field(
        description="hold: without the next server, it would hold less than keeps_rru now; survive: only after the "
        "loss of a domain"
    )
    loss: str | None = Field(description="At survive, the kind of that domain, such as MSB; null: not known, or hold")
    keeps_rru: float = Field(description="RRU that the reservation must keep at that level")
    lacks_rru: float = Field(
        description="RRU that it would lack at that level without the next server. Every other one leaves more missing"
    )
    unit: str = Field(
        description="What it would lack, for people: RRU, a resource, or RRU of a guest. Then keeps_rru and lacks_rru "
        "are shares of its capacity"
    )
    units: float = Field(description="Units of that for each RRU of keeps_rru and lacks_rru")
    waits_for: WaitsFor = Field(description="Identifier to match on: the event after which the next server may leave")
    moves: int = Field(description="Servers on their way to the reservation for good, with a move")
    replacements: int = Field(description="Servers among `moves` that come from a shared buffer")
    loans: int = Field(description="Servers on their way to the reservation as loans for the time of an exchange")
    queued: int = Field(
        description="Free servers that wait to join the reservation, because the mover's bounds are reached"
    )
    approval_id: int | None = Field(
        description="Approval that the next server waits for; null: it waits for something else"
    )
    approval_state: str | None = Field(description="State of that approval: pending, rejected or over")
    message: str = Field(description="For people")
