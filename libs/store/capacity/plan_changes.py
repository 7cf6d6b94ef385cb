"""Read the changes of a plan with the present state of their servers and reservations. The decision which changes to
commit reads them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats, Indices, Ints
from libs.domain.domain_kind import UNPLACED
from libs.domain.fleet import FleetSnapshot, TargetPlan
from libs.domain.loss_axis import LossAxis
from libs.domain.plan_changes import NONE, PlanChanges, TouchedReservations
from libs.store.capacity.coverage import BY_TARGET
from libs.store.capacity.limited_domains import load_limited_domains
from libs.store.fleet.loss_places import LossPlaces, load_domain_ids, load_loss_places
from libs.store.fleet.regions import load_region
from libs.store.fleet.resource_worths import ResourceWorths, load_resource_worths
from libs.store.fleet.snapshot import LEAVING
from libs.store.fleet.topology import rows_of
from libs.store.platform.bulk import copy_out
from libs.store.platform.database import Transaction

_RESERVATIONS = """
    SELECT reservation_id, CASE WHEN scheduled THEN 0 ELSE capacity_rru END,
           coalesce(msb_share_max * capacity_rru, 'infinity'), {survives} FROM reservations
    WHERE reservation_id = ANY(%(ids)s) AND deleted_at IS NULL ORDER BY reservation_id"""
_AFFINITY = """
    SELECT reservation_id, datacenter_id, share FROM reservation_affinity WHERE reservation_id = ANY(%(ids)s)"""
_MSBS = "SELECT msb_id, datacenter_id FROM msbs WHERE region_id = %(region)s ORDER BY msb_id"
_LOADS = f"""
    SELECT target_reservation_id, sum(rru),
           coalesce(sum(rru) FILTER (WHERE current_reservation_id = target_reservation_id), 0),
           {{type}}, count(*),
           count(*) FILTER (WHERE current_reservation_id = target_reservation_id), {{domains}}
    FROM servers JOIN racks USING (rack_id) {{joins}}
    JOIN reservation_rru ON reservation_rru.reservation_id = target_reservation_id
                        AND reservation_rru.hardware_type_id = servers.hardware_type_id
    WHERE target_reservation_id = ANY(%(ids)s) AND {BY_TARGET}
    GROUP BY target_reservation_id, {{type}}, {{domains}}"""
_CHANGES = f"""
    SELECT coalesce(servers.generation, 0), coalesce(target_reservation_id, 0), coalesce(current_reservation_id, 0),
           coalesce(leaving, false), coalesce(CASE WHEN counts THEN source.rru END, 0),
           coalesce(CASE WHEN counts THEN destination.rru END, 0), coalesce(servers.hardware_type_id, 0),
           coalesce(msb_id, 0){{domains}}
    FROM unnest(CAST(%(server_ids)s AS bigint[]), CAST(%(to_ids)s AS bigint[])) WITH ORDINALITY
         AS delta (id, to_id, place)
    LEFT JOIN (SELECT servers.*, msb_id, datacenter_id, {LEAVING} AS leaving, {BY_TARGET} AS counts
               FROM servers JOIN racks USING (rack_id) JOIN msbs USING (msb_id)
               WHERE server_id = ANY(%(server_ids)s)) AS servers
           ON server_id = delta.id
    LEFT JOIN reservation_rru AS source ON source.reservation_id = target_reservation_id
                                       AND source.hardware_type_id = servers.hardware_type_id
    LEFT JOIN reservation_rru AS destination ON destination.reservation_id = to_id
                                            AND destination.hardware_type_id = servers.hardware_type_id
                                            AND (NOT EXISTS (SELECT FROM reservation_datacenters AS allowed
                                                             WHERE allowed.reservation_id = to_id)
                                                 OR EXISTS (SELECT FROM reservation_datacenters AS allowed
                                                            WHERE allowed.reservation_id = to_id
                                                              AND allowed.datacenter_id = servers.datacenter_id))
    {{joins}}
    ORDER BY place"""


def load_plan_changes(tx: Transaction, snapshot: FleetSnapshot, plan: TargetPlan) -> PlanChanges:
    """Return the changes of a plan, with the present state of the servers and reservations that they change.

    Call libs.store.plans.plans.lock_plan first, in the same transaction. Each query reads its own moment. The locks
    keep rows that two queries read from changing, except that servers may fail or retire in between.
    """
    q, rows = snapshot.reservations, plan.changes(snapshot)
    to_ids = np.append(q.id, 0)[plan.target[rows]]
    from_ids = np.where(snapshot.servers.target[rows] < 0, 0, q.id[np.maximum(snapshot.servers.target[rows], 0)])
    region_id = load_region(tx, snapshot.region).region_id
    places, msbs = load_loss_places(tx, region_id), _load_msbs(tx, region_id)
    worths = load_resource_worths(tx, region_id)
    columns = _Columns(msbs.id, load_domain_ids(tx, region_id, places.kinds))
    touched = _touched(tx, snapshot, np.setdiff1d(np.append(to_ids, from_ids), [0]), places, msbs, columns, worths)
    further = "".join(f", {domain}" for domain in places.domains)
    found = copy_out(
        tx,
        _CHANGES.format(domains=further, joins=places.joins),
        {"server_ids": snapshot.servers.id[rows].tolist(), "to_ids": to_ids.tolist()},
        {
            "generation": ">i8",
            "target": ">i8",
            "current": ">i8",
            "leaving": "?",
            "source_rru": ">f8",
            "to_rru": ">f8",
            "type": ">i8",
            **places.fields("domain", ">i8", msb=True),
        },
    )
    to, type_ids = _index(to_ids, touched.id), found["type"].astype(np.int64)
    from_ids = found["target"].astype(np.int64)
    domain = columns.of(np.asarray(places.stacked(found, "domain", msb=True), np.int64))
    lost, gained = (
        worths.of(ids, type_ids, found[rru].astype(np.float64))
        for ids, rru in ((from_ids, "source_rru"), (to_ids, "to_rru"))
    )
    return PlanChanges(
        row=rows,
        source=_index(from_ids, touched.id),
        to=to,
        current=_index(found["current"].astype(np.int64), touched.id),
        domain=touched.axis.columns_of(domain),
        changed=(found["generation"] != snapshot.servers.generation[rows]) | ((to_ids != 0) & (to == NONE)),
        leaving=found["leaving"].copy(),
        source_rru=lost[:, 0],
        to_rru=gained[:, 0],
        source_more=lost[:, 1:],
        to_more=gained[:, 1:],
        touched=touched,
        limited=load_limited_domains(tx, touched.id, touched.capacity_rru, snapshot.servers.id[rows]),
    )


def _touched(
    tx: Transaction,
    snapshot: FleetSnapshot,
    reservation_ids: Ints,
    places: LossPlaces,
    msbs: _Msbs,
    columns: _Columns,
    worths: ResourceWorths,
) -> TouchedReservations:
    parameters = {"ids": reservation_ids.tolist()}
    kind = {"id": ">i8", "capacity": ">f8", "msb_limit": ">f8", **places.fields("survives", "?", msb=True)}
    found = copy_out(tx, _RESERVATIONS.format(survives=", ".join(places.survives)), parameters, kind)
    ids = found["id"].astype(np.int64)
    pair = {"reservation": ">i8", "datacenter": ">i8", "share": ">f8"}
    shares = copy_out(tx, _AFFINITY, {"ids": ids.tolist()}, pair)
    datacenter_ids, msb_datacenter = np.unique(msbs.datacenter_id, return_inverse=True)
    share = np.full((len(ids), len(datacenter_ids)), np.nan)
    known = np.isin(shares["datacenter"], datacenter_ids)  # a datacenter without an MSB holds no server
    column = rows_of(shares["datacenter"][known].astype(np.int64), datacenter_ids)
    share[rows_of(shares["reservation"][known].astype(np.int64), ids), column] = shares["share"][known]
    cell = {
        "reservation": ">i8",
        "rru": ">f8",
        "there": ">f8",
        "type": ">i8",
        "servers": ">i8",
        "servers_there": ">i8",
        **places.fields("domain", ">i8", msb=True),
    }
    domains = ", ".join(("msb_id", *places.domains))
    query = _LOADS.format(domains=domains, joins=places.joins, type=worths.type_column)
    loads = copy_out(tx, query, {"ids": ids.tolist()}, cell)
    of_load = loads["reservation"].astype(np.int64)
    axis = LossAxis(
        ends=columns.ends,
        survives=np.asarray(places.stacked(found, "survives", msb=True), bool),
        weight=worths.weights(ids),
    )
    where = rows_of(of_load, ids)[:, None]
    domain = axis.columns_of(columns.of(np.asarray(places.stacked(loads, "domain", msb=True), np.int64)))
    by_target, by_both = (
        axis.values_of(worths.sums(of_load, loads["type"].astype(np.int64), loads[rru], loads[servers]))
        for rru, servers in (("rru", "servers"), ("there", "servers_there"))
    )
    row = np.flatnonzero(np.isin(snapshot.reservations.id, ids))
    row = row[np.argsort(snapshot.reservations.id[row])]
    return TouchedReservations(
        id=ids,
        row=row,
        name=snapshot.reservations.name[row],
        capacity_rru=found["capacity"].astype(np.float64),
        axis=axis,
        penalty_weight=snapshot.penalty_weight[row],
        affinity_share=share,
        msb_limit_rru=found["msb_limit"].astype(np.float64),
        load=_summed(where, domain, by_target, (len(ids), axis.columns)),
        load_there=_summed(where, domain, by_both, (len(ids), axis.columns)),
        msb_datacenter=msb_datacenter.astype(np.int32),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Msbs:
    """The ids of a region's MSBs, ascending, and the id of the datacenter of each."""

    id: Ints
    datacenter_id: Ints


def _load_msbs(tx: Transaction, region_id: int) -> _Msbs:
    found = copy_out(tx, _MSBS, {"region": region_id}, {"msb": ">i8", "datacenter": ">i8"})
    return _Msbs(found["msb"].astype(np.int64), found["datacenter"].astype(np.int64))


class _Columns:
    """The columns of a loss axis, for the ids of MSBs and of the domains of each further kind, all ascending. The last
    domain of a further kind stands for the servers without one.
    """

    def __init__(self, msb_ids: Ints, domain_ids: tuple[Ints, ...]) -> None:
        self._ids = (msb_ids, *domain_ids)
        self.ends = tuple(np.cumsum([len(msb_ids), *(len(ids) + 1 for ids in domain_ids)]).tolist())

    def of(self, ids: Ints) -> Indices:
        """Return the columns (N, L) of ids (N, L)."""
        starts = (0, *self.ends[:-1])
        columns = [
            start + np.where(column == UNPLACED, len(known), rows_of(column, known))
            for column, known, start in zip(ids.T, self._ids, starts, strict=True)
        ]
        return np.stack(columns, axis=1).astype(np.int32)


def _summed(where: Indices, domain: Indices, values: Floats, shape: tuple[int, int]) -> Floats:
    table = np.zeros(shape)
    np.add.at(table, (where, domain), values)
    return table


def _index(ids: Ints, among: Ints) -> Indices:
    """Return the position of each of `ids` in the ascending array `among`; NONE for an id that is not in `among`."""
    if len(among) == 0:
        return np.full(len(ids), NONE, np.int32)
    place = np.minimum(np.searchsorted(among, ids), len(among) - 1)
    return np.where(among[place] == ids, place, NONE).astype(np.int32)
