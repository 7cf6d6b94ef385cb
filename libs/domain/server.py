"""A server of the broker."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from libs.domain.unavailability import Unavailability


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One server: position, type, and its two bindings by reservation name; None: free."""

    server_id: int
    region: str
    name: str
    datacenter: str
    msb: str
    rack: str
    hardware_type: str
    current_reservation: str | None
    target_reservation: str | None
    in_use: bool
    host_profile: str
    unavailability: Unavailability
    generation: int
    decommissioned_at: datetime | None
