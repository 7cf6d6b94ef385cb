"""Cut a region to a few reservations: their servers in a plan, and the servers that the plan leaves free."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from libs.domain.arrays import Indices
from libs.domain.domain_limits import MSB
from libs.domain.fleet import DELETED, FREE, FleetSnapshot
from libs.domain.limited_kinds import limited_kinds
from libs.domain.power_balance import as_part
from libs.domain.power_use import joining_w, room_w
from libs.domain.uplinks import left_to
from libs.plan_check.hard_limits import servers_by_domain
from libs.plan_check.regression import by_place
from libs.ras.server_classes import Index
from libs.ras.single_reservation import with_servers
from libs.ras.zones import Zones, choose_zones


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FewReservations:
    """F of the R reservations of a region, with the N lasting servers that a plan gives to them or leaves free.

    A plan for them touches no other reservation. A server that the plan took from another reservation is free here: its
    departure is decided. Until it has left, it is currently DELETED, and draws its power in full already.

    snapshot  the cut region, in cost units and without a churn budget. Its targets are those before the plan. Where a
              kind has one domain, its hard limits allow what the plan has there
    rows      (N,) int  the row of each server in the whole region
    chosen    (F,) int  the reservations in the whole region, rising
    planned   (N,) int  the reservation of each server in the plan, counted as in `snapshot`; FREE if it has none
    zones     the domains that the plan gives to reservations with a `domains_max`; None: no reservation has one
    """

    snapshot: FleetSnapshot
    rows: Index
    chosen: Index
    planned: Indices
    zones: Zones | None

    @classmethod
    def of(cls, snapshot: FleetSnapshot, target: Indices, chosen: Index) -> FewReservations:
        """Return the reservations `chosen` (F,) of the plan `target` (S,)."""
        q, kept = snapshot.reservations, np.sort(chosen)
        number = np.full(len(q) + 2, DELETED, np.int32)  # FREE and DELETED count from the end
        number[FREE], number[kept] = FREE, np.arange(len(kept), dtype=np.int32)
        rows = np.flatnonzero(snapshot.servers.lasting & ((target < 0) | (number[target] >= 0)))
        before, planned = (np.maximum(number[of[rows]], FREE) for of in (snapshot.servers.target, target))
        some = with_servers(snapshot, rows.astype(np.int32))
        here = np.zeros(len(target), bool)
        here[rows] = True
        elsewhere = np.where(here, FREE, target)  # what the plan adds there is no room here
        room = room_w(snapshot) - joining_w(snapshot, elsewhere)
        few = replace(
            as_part(some, snapshot, here, target, room),
            churned=None,
            promised_rru=None,
            uplinks=left_to(snapshot, here, target),
            servers=replace(some.servers, current=number[some.servers.current], target=before),
            reservations=replace(q, **{field.name: getattr(q, field.name)[kept] for field in fields(q)}),
        )
        zones = choose_zones(few, planned, stay=np.ones(len(kept), bool))
        few = _with_planned_limits(few, planned)
        return cls(snapshot=few.in_cost_units(), rows=rows, chosen=kept, planned=planned, zones=zones)

    def in_whole(self, target: Indices, found: Indices) -> Indices:
        """Return the plan `target` (S,) of the region with `found` (N,) for these servers."""
        whole = target.copy()
        whole[self.rows] = np.append(self.chosen, FREE)[found]
        return whole


def _with_planned_limits(few: FleetSnapshot, planned: Indices) -> FleetSnapshot:
    """Return the snapshot in which hard limits on each domain of a kind allow what the plan has, if the kind has one
    domain.

    The plan may keep a binding that breaks such a limit. All servers of a reservation are in the domain. So this limit
    would exclude what the reservation may not lose of the plan.
    """
    q, capacity = few.reservations, few.reservations.capacity_rru
    limits, msb_share = q.domain_limits.copy(), q.msb_share_max
    for kind in limited_kinds(few):
        if len(kind.domains) == 1:
            held = servers_by_domain(few, kind, planned)[:, 0]
            load = by_place(few, planned, kind.of, 1)[:, 0]
            share = np.divide(load, capacity, out=np.zeros(len(q)), where=capacity > 0)
            limits[:, kind.column, 1] = np.maximum(limits[:, kind.column, 1], held)
            limits[:, kind.column, 2] = np.maximum(limits[:, kind.column, 2], share)
            if kind.kind == MSB:
                msb_share = np.maximum(msb_share, share)
    return replace(few, reservations=replace(q, domain_limits=limits, msb_share_max=msb_share))
