"""What a container allocator would do with the servers of a reservation, as decisions for whoever sends them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatedServer:
    """What the allocator sees of a server; None: bound to no reservation."""

    server_id: int
    generation: int
    name: str
    current_reservation: str | None
    target_reservation: str | None
    in_use: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InUseDecision:
    """Set `in_use` of a server that is at this generation."""

    server_id: int
    generation: int
    in_use: bool


def decide_in_use(
    servers: Iterable[AllocatedServer], *, used_share: float = 0.8, seed: int = 0
) -> tuple[InUseDecision, ...]:
    """Put containers on so many of the servers that have joined a reservation and are to stay (RAS, 4.6: about 80 %).

    Which ones follows from the names, so asking again changes nothing. Preempting is the mover's business.
    """
    return tuple(
        InUseDecision(server_id=server.server_id, generation=server.generation, in_use=True)
        for server in servers
        if not server.in_use
        and server.current_reservation is not None
        and server.current_reservation == server.target_reservation
        and _share(f"{seed} {server.current_reservation} {server.name}") < used_share
    )


def _share(key: str) -> float:
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
