"""Choose spare servers that replace lost servers: the quick decision between two solves (RAS, 3.2 and 3.3.1)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Floats, Indices
from libs.domain.fleet import FREE, TargetPlan
from libs.domain.locality import added_domains, preferring_kinds
from libs.domain.loss_axis import LossAxis, loss_axis
from libs.domain.replacement import FailuresSnapshot, LossVerdict, Replacements
from libs.ras.domain_losses import HOLD_S_MAX, lost_domains, suspected_domains
from libs.ras.hard_limits import may_join
from libs.ras.returned_spares import return_spares

_TOLERANCE = 1e-9


def plan_replacements(failures: FailuresSnapshot) -> Replacements:
    """Replace lost servers by spare servers of the same hardware type, while their reservation is short. ADR 0011.

    Servers of a domain that may be about to be lost wait, if an embedded buffer covers its loss. Spares that were drawn
    for a lost domain go back (docs/designs/0028).

    The reservation of the higher class of priority comes first, and in a class the one that lacks the larger share of
    its capacity. A spare server is chosen by the cost of its place to the reservation: its MSB, and its domain of each
    further kind that reservations survive. Shortfall and affinity count first, then whether the spare server is ready,
    then spread, buffer and preferred domains. Of places with equal costs, the one with the most spare servers gives
    one. The same snapshot gives the same plan.
    """
    fleet = failures.fleet
    servers, q = fleet.servers, fleet.reservations
    (axis, domain), worth = loss_axis(fleet.losses, fleet.measures), fleet.shared_rru
    target, gone, suspected = servers.target.copy(), lost_domains(failures), suspected_domains(failures)
    gone = replace(gone, msb=gone.msb | failures.with_place)
    returned = return_spares(failures, target, gone)
    held = np.flatnonzero(servers.available & (target >= 0))
    value = axis.values_of(worth[target[held], servers.hardware_type[held]])
    load = np.zeros((len(q), axis.columns))
    np.add.at(load, (target[held, None], domain[held]), value)
    spares = {kind: np.flatnonzero(failures.spare & (servers.hardware_type == kind)) for kind in _types(failures)}
    lost = np.flatnonzero(failures.lost)
    missing = np.array([_missing(failures, axis, r, load[r][None])[0] for r in target[lost]])
    share = missing / np.maximum(q.capacity_rru[target[lost]], _TOLERANCE)
    lost = lost[np.lexsort((lost, -share, -q.priority[target[lost]]))]
    preferring = preferring_kinds(fleet)
    with_place, held_back = gone.of_survived(servers.target), suspected.of_survived(servers.target)
    verdicts: list[LossVerdict] = []
    for row in lost.tolist():
        r, kind = int(servers.target[row]), int(servers.hardware_type[row])
        lacks = bool(_missing(failures, axis, r, load[r][None])[0] > _TOLERANCE * max(1.0, float(q.capacity_rru[r])))
        carries = axis.total_rru(load[r][None])[0] >= q.enough_rru[r]
        is_with_place = bool(gone.msb[row] or (with_place[row] and carries))
        is_suspect = bool(suspected.msb[row] or (held_back[row] and carries))
        is_held_back = is_suspect and bool(failures.down_s[row] <= HOLD_S_MAX)
        verdict = _refusal(failures, r, kind, lacks, is_with_place, is_held_back)
        if verdict is None:  # few come so far, and only for them each server of the region is looked at
            there = spares[kind]
            usable = there[may_join(fleet, target, r, there, float(q.rru[r, kind]))] if len(there) else there
            verdict = LossVerdict.DRAWN if len(usable) else LossVerdict.BUFFER_EMPTY
        verdicts.append(verdict)
        if verdict is LossVerdict.DRAWN:
            further = fleet.price("locality_cost")[r] * added_domains(fleet, preferring, target, r, usable)
            spare = _choose(
                failures, axis, domain, r, load[r], usable, axis.values_of(worth[r, kind][None])[0], further
            )
            target[spare], target[row] = r, failures.buffer[kind]
            load[r, domain[spare]] += axis.values_of(worth[r, kind][None])[0]
            spares[kind] = spares[kind][spares[kind] != spare]
    plan = TargetPlan(target=target, parent_plan_id=fleet.target_plan_id)
    return Replacements(plan=plan, lost=lost, verdict=tuple(verdicts), returned=returned)


def _types(failures: FailuresSnapshot) -> list[int]:
    return [int(kind) for kind in np.unique(failures.fleet.servers.hardware_type[failures.lost])]


def _refusal(
    failures: FailuresSnapshot, r: int, kind: int, lacks: bool, is_with_place: bool, is_held_back: bool
) -> LossVerdict | None:
    """Return why a lost server draws nothing, before its spare servers are looked at; None: it may draw one."""
    q = failures.fleet.reservations
    if q.rru[r, kind] <= 0:
        return LossVerdict.USELESS
    if is_with_place:
        return LossVerdict.WITH_PLACE
    if not lacks:
        return LossVerdict.COVERED
    if failures.buffer[kind] == FREE:
        return LossVerdict.NO_BUFFER
    return LossVerdict.HELD if is_held_back else None


def _choose(
    failures: FailuresSnapshot,
    axis: LossAxis,
    domain: Indices,
    r: int,
    held: Floats,
    spares: NDArray[np.intp],
    values: Floats,
    further: Floats,
) -> int:
    """Return the row of the best spare server for reservation `r`.

    domain  (S, M L) columns of each server on the axis
    held    (P,) RRU that the reservation has in each domain
    spares  (N,) rows of the spare servers to choose from, all of one hardware type
    values  (M L,) what one of them adds at its columns
    further (N,) cost of the domains beyond the preferred ones that each of them adds
    """
    fleet = failures.fleet
    q, policy, topology = fleet.reservations, fleet.policy, fleet.topology
    places, of_spare, kept = np.unique(domain[spares], axis=0, return_inverse=True, return_counts=True)
    of_spare = of_spare.reshape(-1)
    after = np.repeat(held[None], len(places), 0)  # (p, P): its RRU per domain if the server comes from that place
    after[np.arange(len(places))[:, None], places] += values
    by_msb = after[:, : axis.msbs]
    by_datacenter = np.zeros((len(places), len(topology.datacenters)))
    np.add.at(by_datacenter.T, topology.msb_datacenter, by_msb.T)
    capacity = q.capacity_rru[r]
    off = np.abs(by_datacenter - q.affinity_share[r] * capacity) - policy.affinity_tolerance * capacity
    broken = policy.shortfall_cost * _missing(failures, axis, r, after)
    broken = broken + policy.affinity_cost * np.maximum(np.nan_to_num(off), 0.0).sum(1)
    over = np.maximum(by_msb - q.msb_spread_limit[r] * capacity, 0.0).sum(1)
    survived = [span for span, survives in zip(axis.spans, axis.survives[r], strict=True) if survives]
    buffer = sum((after[:, a:b].max(1) for a, b in survived), np.zeros(len(places)))
    cost = fleet.price("spread_cost")[r] * over + fleet.price("buffer_cost")[r] * buffer
    keys = (
        spares,
        -kept[of_spare],
        (cost[of_spare] + further).round(9),
        ~failures.ready[spares],
        broken[of_spare].round(9),
    )
    return int(spares[np.lexsort(keys)[0]])


def _missing(failures: FailuresSnapshot, axis: LossAxis, r: int, held: Floats) -> Floats:
    """Return the RRU that reservation `r` lacks (RAS, expression 6), (N,), for each row of `held` (N, P).

    A row of `held` has the RRU that the reservation holds in each domain.
    """
    surviving = axis.left_rru(held, np.full(len(held), r))
    return np.asarray(np.maximum(failures.fleet.reservations.capacity_rru[r] - surviving, 0.0))
