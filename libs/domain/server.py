"""A server of the broker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from libs.domain.departure_wait import ServerWait
from libs.domain.unavailability import Unavailability


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One server: its position, its type, and its bindings by name of reservation. A binding of None means that the
    server is free.

    domains                its domain of each further kind, such as network_block; kinds without a place are absent
    in_doubt_reservation   reservation that the server may be in, because its last step has no known outcome
    spare_for_reservation  reservation that has the server for the time of an exchange; its target does not say so
    unclean                True: the server may hold data of its last reservation
    waits                  why it may not leave its reservation yet; None: it does not wait
    """

    server_id: int
    region: str
    name: str
    datacenter: str
    msb: str
    rack: str
    domains: Mapping[str, str]
    hardware_type: str
    current_reservation: str | None
    target_reservation: str | None
    in_doubt_reservation: str | None
    spare_for_reservation: str | None
    unclean: bool
    in_use: bool
    host_profile: str
    unavailability: Unavailability
    generation: int
    decommissioned_at: datetime | None
    waits: ServerWait | None
