"""Recognise the loss of an MSB in failures that come server by server (docs/designs/0028, ADR 0011)."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Bools, Floats, Ints
from libs.domain.replacement import BURST_LOST_SHARE, FailuresSnapshot

MSB_LOST_SHARE = 0.5
"""Share of an MSB's servers that are down, above which the MSB counts as lost, for any scope of its events (ADR
0011). BURST_LOST_SHARE is for servers that went down within one window: so many at a time are no coincidence.
"""
WINDOW_S = 300.0
"""Seconds in which failures of one MSB are taken together."""
HOLD_S_MAX = 900.0
"""Longest time that a lost server waits before it may draw a spare one, in seconds since its failure."""
_FAILURES_PER_S = 1 / (400 * 3600)
"""Rate at which one server fails by itself: 1 % of servers down, with repairs that take 4 h."""
_DEVIATIONS, _ALWAYS = 4.0, 3.0


def explained_failures(servers: Ints) -> Floats:
    """Return the failures within WINDOW_S that are no surprise in MSBs of so many servers, (M,).

    lambda N W + 4 sqrt(lambda N W) + 3
    """
    mean = _FAILURES_PER_S * WINDOW_S * servers
    return np.asarray(mean + _DEVIATIONS * np.sqrt(mean) + _ALWAYS)


def suspected_msbs(failures: FailuresSnapshot) -> Bools:
    """Return the MSBs in which more servers failed within the last WINDOW_S than single failures explain, (M,). The
    failures of one rack alone are no MSB's loss.
    """
    recent = ~failures.fleet.servers.available & (failures.down_s <= WINDOW_S)
    return _is_burst(failures, recent)


def lost_msbs(failures: FailuresSnapshot) -> Bools:
    """Return the MSBs that count as lost, (M,): more than MSB_LOST_SHARE of their servers are down, or more than
    BURST_LOST_SHARE are down that failed within one window of WINDOW_S.
    """
    fleet = failures.fleet
    is_down, M = ~fleet.servers.available, len(fleet.topology.msbs)
    all_servers = np.bincount(fleet.server_msb, minlength=M)
    down = np.bincount(fleet.server_msb[is_down], minlength=M)
    lost = np.asarray(down > MSB_LOST_SHARE * all_servers)
    for m in np.flatnonzero(~lost & (down > BURST_LOST_SHARE * all_servers)).tolist():
        rows = np.flatnonzero(is_down & (fleet.server_msb == m) & np.isfinite(failures.down_s))
        rows = rows[np.argsort(failures.down_s[rows], kind="stable")]
        since_s = failures.down_s[rows]
        ends = np.searchsorted(since_s, since_s + WINDOW_S, side="right")
        if not len(rows) or (longest := int((ends - np.arange(len(rows))).max())) <= BURST_LOST_SHARE * all_servers[m]:
            continue
        first = int((ends - np.arange(len(rows))).argmax())
        burst = np.zeros(len(is_down), bool)
        burst[rows[first : first + longest]] = True
        lost[m] = _is_burst(failures, burst)[m]
    return lost


def _is_burst(failures: FailuresSnapshot, chosen: Bools) -> Bools:
    """Return the MSBs, (M,), in which the chosen servers, (S,), are more than single failures explain, in more than
    one rack.
    """
    fleet = failures.fleet
    M, racks = len(fleet.topology.msbs), np.unique(fleet.servers.rack[chosen])
    number = np.bincount(fleet.server_msb[chosen], minlength=M)
    hit = np.bincount(fleet.topology.rack_msb[racks], minlength=M)
    explained = explained_failures(np.bincount(fleet.server_msb, minlength=M))
    return np.asarray((number > explained) & (hit > 1))
