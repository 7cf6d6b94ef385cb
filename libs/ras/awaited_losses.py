"""Let servers of a lost domain count as held for a time, so that no embedded buffer is rebuilt at once. Pure.

See docs/designs/0024-given-back.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np

from libs.domain.fleet import FleetSnapshot

LostAt = Mapping[str, Mapping[str, datetime]]
"""The domains of each kind that are down, with the time of their loss: kind -> domain -> time."""


def await_lost_domains(snapshot: FleetSnapshot, lost_at: LostAt, now: datetime) -> FleetSnapshot:
    """Return the snapshot with the servers of young losses marked as `awaited`, so that they count as held.

    A loss is young for `rebuild_after_s` of the policy. A reservation awaits servers only if it survives such a loss,
    and only while its servers that are up give its capacity. A promise that is broken now is repaired without waiting.
    """
    servers, q = snapshot.servers, snapshot.reservations
    patience = timedelta(seconds=snapshot.policy.rebuild_after_s)
    awaited = np.zeros(len(servers), bool)
    for loss in snapshot.losses:
        since = lost_at.get(loss.kind, {})
        young = np.array([name in since and now - since[name] < patience for name in loss.domains], bool)
        if young.any():
            awaited |= young[loss.of] & ~servers.available & loss.survived_by(servers.target)
    if not awaited.any():
        return snapshot
    up = np.flatnonzero(servers.available & ~servers.leaving & (servers.target >= 0))
    worth = snapshot.shared_rru[servers.target[up], servers.hardware_type[up]]
    load = np.min([np.bincount(servers.target[up], rru, len(q)) for rru in worth.T], axis=0)
    awaited[awaited] = (load >= q.enough_rru)[servers.target[awaited]]
    return replace(snapshot, servers=replace(servers, awaited=awaited))


def awaited_by_kind(snapshot: FleetSnapshot) -> dict[int, Counter[str]]:
    """Return how many servers reservations await after the loss of a domain of each kind: row -> kind -> number.

    Each server counts once, for the first kind of which its domain has no server up. MSBs come first, so that their
    servers are not told again as the loss of smaller domains within.
    """
    servers, found = snapshot.servers, dict[int, Counter[str]]()
    rows = np.flatnonzero(servers.awaited)
    for loss in snapshot.losses if len(rows) else ():
        up = np.bincount(loss.of[servers.available], minlength=len(loss.domains))
        lost = (up[loss.of[rows]] == 0) & loss.survived_by(servers.target[rows])
        for row, number in zip(*np.unique(servers.target[rows[lost]], return_counts=True), strict=True):
            found.setdefault(int(row), Counter())[loss.kind] = int(number)
        rows = rows[~lost]
    return found
