"""A stand-in for a container allocator: it decides which servers of a reservation are in use."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from libs.store.capacity.shared_buffers import NAME_PREFIX


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatedServer:
    """A server as the allocator sees it. A reservation of None means that the server is bound to none."""

    server_id: int
    generation: int
    name: str
    current_reservation: str | None
    target_reservation: str | None
    in_use: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InUseDecision:
    """The decision to set `in_use` of a server that is at this generation."""

    server_id: int
    generation: int
    in_use: bool


def decide_in_use(
    servers: Iterable[AllocatedServer], *, used_share: float = 0.8, seed: int = 0
) -> tuple[InUseDecision, ...]:
    """Return the decisions to put containers on `used_share` of the servers (RAS, 4.6: about 80 %).

    Only servers that have joined a reservation and stay in it are candidates. Servers of a shared buffer have joined
    none. The choice depends on the names alone, so a second call decides the same. Servers in use are left alone,
    because the mover preempts them.
    """
    return tuple(
        InUseDecision(server_id=server.server_id, generation=server.generation, in_use=True)
        for server in servers
        if not server.in_use
        and server.current_reservation is not None
        and server.current_reservation == server.target_reservation
        and not server.current_reservation.startswith(NAME_PREFIX)
        and _share(f"{seed} {server.current_reservation} {server.name}") < used_share
    )


def _share(key: str) -> float:
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
