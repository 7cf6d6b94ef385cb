"""A server of the broker."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from libs.domain.unavailability import Unavailability


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One server: position, type, and its bindings by reservation name; None: free.

    in_doubt_reservation   it may be in this one, because its last step has no known outcome; it counts for none
    unclean                it may hold data of its last reservation
    """

    server_id: int
    region: str
    name: str
    datacenter: str
    msb: str
    rack: str
    hardware_type: str
    current_reservation: str | None
    target_reservation: str | None
    in_doubt_reservation: str | None
    unclean: bool
    in_use: bool
    host_profile: str
    unavailability: Unavailability
    generation: int
    decommissioned_at: datetime | None
