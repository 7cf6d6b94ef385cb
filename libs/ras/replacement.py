"""Choose spare servers that replace lost servers: the quick decision between two solves (RAS, 3.2 and 3.3.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Floats
from libs.domain.fleet import FREE, TargetPlan
from libs.domain.replacement import FailuresSnapshot, LossVerdict, Replacements
from libs.ras.msb_losses import HOLD_S_MAX, lost_msbs, suspected_msbs
from libs.ras.returned_spares import return_spares

_TOLERANCE = 1e-9


def plan_replacements(failures: FailuresSnapshot) -> Replacements:
    """Replace lost servers by spare servers of the same hardware type, while their reservation is short. ADR 0011.

    Servers of an MSB that may be about to be lost wait. Spares that were drawn for a lost MSB go back
    (docs/designs/0028).

    The reservation of the higher class of priority comes first, and in a class the one that lacks the larger share of
    its capacity. A spare server is chosen by the cost of its
    MSB to the reservation. Shortfall and affinity count first, then whether the spare server is ready, then spread and
    buffer. Of MSBs with equal costs, the MSB with the most spare servers gives one. The same snapshot gives the same
    plan.
    """
    fleet = failures.fleet
    servers, q, M = fleet.servers, fleet.reservations, len(fleet.topology.msbs)
    with_place = failures.with_place | lost_msbs(failures)[fleet.server_msb]
    msb, target = fleet.server_msb, servers.target.copy()
    returned = return_spares(failures, target, with_place)
    held = np.flatnonzero(servers.available & (target >= 0))
    value = q.rru[target[held], servers.hardware_type[held]]
    by_msb = np.bincount(target[held] * M + msb[held], value, len(q) * M).reshape(len(q), M)
    spares = {kind: np.flatnonzero(failures.spare & (servers.hardware_type == kind)) for kind in _types(failures)}
    lost = np.flatnonzero(failures.lost)
    missing = np.array([_missing(failures, r, by_msb[r][None])[0] for r in target[lost]])
    share = missing / np.maximum(q.capacity_rru[target[lost]], _TOLERANCE)
    lost = lost[np.lexsort((lost, -share, -q.priority[target[lost]]))]
    held_back = suspected_msbs(failures)[msb] & (failures.down_s <= HOLD_S_MAX)
    verdicts: list[LossVerdict] = []
    for row in lost.tolist():
        r, kind = int(servers.target[row]), int(servers.hardware_type[row])
        usable = _within_limits(failures, r, by_msb[r], spares[kind], float(q.rru[r, kind]))
        verdict = _verdict(failures, r, kind, by_msb[r], usable, bool(with_place[row]), bool(held_back[row]))
        verdicts.append(verdict)
        if verdict is LossVerdict.DRAWN:
            spare = _choose(failures, r, by_msb[r], usable)
            target[spare], target[row] = r, failures.buffer[kind]
            by_msb[r, msb[spare]] += q.rru[r, kind]
            spares[kind] = spares[kind][spares[kind] != spare]
    plan = TargetPlan(target=target, parent_plan_id=fleet.target_plan_id)
    return Replacements(plan=plan, lost=lost, verdict=tuple(verdicts), returned=returned)


def _types(failures: FailuresSnapshot) -> list[int]:
    return [int(kind) for kind in np.unique(failures.fleet.servers.hardware_type[failures.lost])]


def _verdict(
    failures: FailuresSnapshot,
    r: int,
    kind: int,
    held: Floats,
    spares: NDArray[np.intp],
    is_with_place: bool,
    is_held_back: bool,
) -> LossVerdict:
    q = failures.fleet.reservations
    if q.rru[r, kind] <= 0:
        return LossVerdict.USELESS
    if is_with_place:
        return LossVerdict.WITH_PLACE
    if _missing(failures, r, held[None])[0] <= _TOLERANCE * max(1.0, float(q.capacity_rru[r])):
        return LossVerdict.COVERED
    if failures.buffer[kind] == FREE:
        return LossVerdict.NO_BUFFER
    if is_held_back:
        return LossVerdict.HELD
    return LossVerdict.DRAWN if len(spares) else LossVerdict.BUFFER_EMPTY


def _within_limits(
    failures: FailuresSnapshot, r: int, held: Floats, spares: NDArray[np.intp], rru: float
) -> NDArray[np.intp]:
    """Return the rows of `spares` that reservation `r` may get by its hard limits. `held` (M,) is its RRU by MSB."""
    fleet = failures.fleet
    q, limit = fleet.reservations, float(fleet.reservations.msb_limit_rru[r])
    fits = held[fleet.server_msb[spares]] + rru <= limit * (1 + _TOLERANCE)
    return np.asarray(spares[fits & q.allowed[r, fleet.server_datacenter[spares]]])


def _choose(failures: FailuresSnapshot, r: int, held: Floats, spares: NDArray[np.intp]) -> int:
    """Return the row of the best spare server for reservation `r`.

    held    (M,) RRU that the reservation has in each MSB
    spares  (N,) rows of the spare servers to choose from, all of one hardware type
    """
    fleet = failures.fleet
    q, policy, topology = fleet.reservations, fleet.policy, fleet.topology
    msbs, of_spare, kept = np.unique(fleet.server_msb[spares], return_inverse=True, return_counts=True)
    after = np.repeat(held[None], len(msbs), 0)  # (m, M): its RRU per MSB if the server comes from that MSB
    after[np.arange(len(msbs)), msbs] += q.rru[r, fleet.servers.hardware_type[spares[0]]]
    by_datacenter = np.zeros((len(msbs), len(topology.datacenters)))
    np.add.at(by_datacenter.T, topology.msb_datacenter, after.T)
    capacity = q.capacity_rru[r]
    off = np.abs(by_datacenter - q.affinity_share[r] * capacity) - policy.affinity_tolerance * capacity
    broken = policy.shortfall_cost * _missing(failures, r, after)
    broken = broken + policy.affinity_cost * np.maximum(np.nan_to_num(off), 0.0).sum(1)
    over = np.maximum(after - q.msb_spread_limit[r] * capacity, 0.0).sum(1)
    buffer = after.max(1) if q.survives_msb_loss[r] else np.zeros(len(msbs))
    cost = fleet.price("spread_cost")[r] * over + fleet.price("buffer_cost")[r] * buffer
    keys = (spares, -kept[of_spare], cost[of_spare].round(9), ~failures.ready[spares], broken[of_spare].round(9))
    return int(spares[np.lexsort(keys)[0]])


def _missing(failures: FailuresSnapshot, r: int, held: Floats) -> Floats:
    """Return the RRU that reservation `r` lacks (RAS, expression 6), (N,), for each row of `held` (N, M).

    A row of `held` has the RRU that the reservation holds in each MSB.
    """
    q = failures.fleet.reservations
    surviving = held.sum(1) - (held.max(1, initial=0.0) if q.survives_msb_loss[r] else 0.0)
    return np.asarray(np.maximum(q.capacity_rru[r] - surviving, 0.0))
