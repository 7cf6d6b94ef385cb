"""Let servers of a lost MSB count as held for a time, so that no embedded buffer is rebuilt at once. Pure.

See docs/designs/0024-given-back.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np

from libs.domain.fleet import FleetSnapshot
from libs.domain.reservation import ROUNDING


def await_lost_msbs(snapshot: FleetSnapshot, lost_at: Mapping[str, datetime], now: datetime) -> FleetSnapshot:
    """Return the snapshot with the servers of young losses marked as `awaited`, so that they count as held.

    A loss is young for `rebuild_after_s` of the policy. A reservation awaits servers only if it survives an MSB's loss,
    and only while its servers that are up give its capacity. A promise that is broken now is repaired without waiting.
    `lost_at` maps MSBs that are down to the time of their loss.
    """
    servers, q, topology = snapshot.servers, snapshot.reservations, snapshot.topology
    patience = timedelta(seconds=snapshot.policy.rebuild_after_s)
    young = np.array([name in lost_at and now - lost_at[name] < patience for name in topology.msbs], bool)
    if not young.any():
        return snapshot
    up = np.flatnonzero(servers.available & ~servers.leaving & (servers.target >= 0))
    worth = snapshot.shared_rru[servers.target[up], servers.hardware_type[up]]
    load = np.min([np.bincount(servers.target[up], rru, len(q)) for rru in worth.T], axis=0)
    patient = np.append(q.survives_msb_loss & (load >= q.capacity_rru * (1 - ROUNDING)), False)
    awaited = young[snapshot.server_msb] & ~servers.available & patient[np.maximum(servers.target, -1)]
    return replace(snapshot, servers=replace(servers, awaited=awaited))
