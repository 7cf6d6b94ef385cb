"""Cut a snapshot to one reservation with its own servers and the free servers, for requests and explanations."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from libs.domain.arrays import Indices
from libs.domain.fleet import DELETED, FREE, FleetSnapshot
from libs.domain.power_balance import as_part
from libs.domain.uplinks import left_to


def own_and_free(snapshot: FleetSnapshot, reservation: int) -> Indices:
    """Return the rows of the servers whose target is `reservation`, and of the free servers that it could get.

    Such a free server is neither down, nor in maintenance, nor announced for retirement.
    """
    servers = snapshot.servers
    mine = (servers.target == reservation) | ((servers.target < 0) & servers.lasting)
    return np.flatnonzero(mine).astype(np.int32)


def alone(snapshot: FleetSnapshot, reservation: int, rows: Indices) -> FleetSnapshot:
    """Return the snapshot with the one reservation `reservation` and the servers `rows`.

    A server that is bound to another reservation becomes FREE. One that has not left another reservation yet is
    currently DELETED: it draws its power in full already.
    """
    q, own = snapshot.reservations, slice(reservation, reservation + 1)
    some = with_servers(snapshot, rows)
    here, there = some.servers.current, some.servers.target
    current = np.where(here == reservation, 0, np.where(here == FREE, FREE, DELETED)).astype(np.int32)
    target = np.where(there == reservation, 0, FREE).astype(np.int32)
    return replace(
        some,
        churned=None,  # only plans for several reservations have a churn budget
        promised_rru=None,
        servers=replace(some.servers, current=current, target=target),
        reservations=replace(q, **{field.name: getattr(q, field.name)[own] for field in fields(q)}),
    )


def with_servers(snapshot: FleetSnapshot, rows: Indices) -> FleetSnapshot:
    """Return the snapshot with the servers `rows` only, in that order. Its power is a part of the region's, and so are
    its uplinks.
    """
    s = snapshot.servers
    here = np.zeros(len(s), bool)
    here[rows] = True
    servers = replace(s, **{field.name: getattr(s, field.name)[rows] for field in fields(s)})
    some = replace(snapshot, servers=servers, uplinks=left_to(snapshot, here, s.target))
    return as_part(some, snapshot, here, s.target)
