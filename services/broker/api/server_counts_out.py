"""Counts of servers by place and hardware type, as JSON."""

from __future__ import annotations

from pydantic import Field

from libs.web.model import ResponseModel


class ServerCountsOut(ResponseModel):
    """Servers of one hardware type in one MSB."""

    datacenter: str
    msb: str
    hardware_type: str
    servers: int
    bound: int = Field(description="With a reservation as target")
    joined: int = Field(description="In a reservation now")
    arriving: int = Field(description="Bound, and not in that reservation yet")
    departing: int = Field(description="In a reservation, and bound to another or to none")
    to_move: int = Field(description="Where they are not to be: arriving, departing, or both")
    free: int = Field(description="Bound to none, not down, and not announced for retirement")
    in_use: int = Field(description="Runs containers")
    down: int = Field(description="Unavailable for an unplanned reason")
    maintenance: int = Field(description="Unavailable for a planned reason")
    held_rru: float | None = Field(description="RRU that the reservation holds here now; null without `reservation`")
    target_rru: float | None = Field(description="RRU that its targets give here; null without `reservation`")
