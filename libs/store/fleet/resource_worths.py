"""Read what servers are worth to reservations in each resource that these ask for. See docs/designs/0058."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa

from libs.domain.arrays import Bools, Floats, Indices, Ints
from libs.domain.resources import listed_resources, measures_of, resources_table
from libs.store.fleet.guests import ASKED
from libs.store.fleet.resources import load_asked, load_sizes_and_guests
from libs.store.fleet.topology import rows_of
from libs.store.platform.bulk import copy_out
from libs.store.platform.database import Transaction

_ASKS = f"""
    SELECT reservation_id, CASE WHEN scheduled THEN 0 ELSE capacity_rru END FROM reservations
    WHERE region_id = %(region_id)s AND deleted_at IS NULL
      AND reservation_id IN (SELECT reservation_id FROM {ASKED} AS asked WHERE region_id = %(region_id)s)
    ORDER BY reservation_id"""
_RRU = "SELECT reservation_id, hardware_type_id, rru FROM reservation_rru WHERE reservation_id = ANY(%(ids)s)"
_TYPES = sa.text("""
    SELECT hardware_type_id, name FROM hardware_types WHERE hardware_type_id = ANY(:ids) ORDER BY hardware_type_id""")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResourceWorths:
    """The N reservations of a region that ask for resources, and the M measures: RRU first, then each resource.

    ids        (N,) int    ascending
    type_ids   (T,) int    hardware types that they may use, ascending
    worth      (N, T, M)   worth of one server in each measure, as a share of the capacity in RRU
    weight     (N, M)      factor of each measure in penalties; 0: not asked for
    resources  (M - 1,)    the names of the resources
    units      (N, M)      units of each measure for each RRU of the capacity
    """

    ids: Ints
    type_ids: Ints
    worth: Floats
    weight: Floats
    resources: tuple[str, ...]
    units: Floats

    @property
    def measures(self) -> int:
        """Return M; 1 if no reservation asks for a resource."""
        return int(self.worth.shape[2])

    @property
    def type_column(self) -> str:
        """Return the SQL of the hardware type of a row of `servers`, to group servers of like worth.

        It is constant if no reservation asks for a resource: then fewer rows are read.
        """
        return "servers.hardware_type_id" if self.measures > 1 else "CAST(0 AS bigint)"

    def of(self, reservation_ids: Ints, type_ids: Ints, rru: Floats) -> Floats:
        """Return the worth (K, M) of servers in each measure: `rru` (K,) where a reservation does not ask for the
        resource. A server with 0 RRU is worth nothing.
        """
        found = np.repeat(rru[:, None], self.measures, axis=1)
        row, asks = _found(reservation_ids, self.ids)
        column, known = _found(type_ids, self.type_ids)
        some = asks & known & (rru > 0)
        found[some] = self.worth[row[some], column[some]]
        found[:, 0] = rru
        return found

    def sums(self, reservation_ids: Ints, type_ids: Ints, rru: Floats, servers: Ints) -> Floats:
        """Return the worth (K, M) of groups of like servers, by the `rru` (K,) and the number of `servers` (K,) in
        each.
        """
        one = np.divide(rru, servers, out=np.zeros(len(rru)), where=servers > 0)
        found = self.of(reservation_ids, type_ids, one) * servers[:, None]
        found[:, 0] = rru
        return found

    def weights(self, reservation_ids: Ints) -> Floats | None:
        """Return the factors (K, M) of penalties. None: no reservation of the region asks for a resource."""
        if self.measures == 1:
            return None
        row, asks = _found(reservation_ids, self.ids)
        found = np.zeros((len(reservation_ids), self.measures))
        found[:, 0] = 1.0
        found[asks] = self.weight[row[asks]]
        return found


def load_resource_worths(tx: Transaction, region_id: int) -> ResourceWorths:
    """Return the worths of a region's live reservations that ask for resources, as they are now."""
    asks = copy_out(tx, _ASKS, {"region_id": region_id}, {"id": ">i8", "capacity": ">f8"})
    ids = asks["id"].astype(np.int64)
    if not len(ids):
        none = np.ones((0, 1))
        return ResourceWorths(ids=ids, type_ids=ids, worth=np.zeros((0, 0, 1)), weight=none, resources=(), units=none)
    pairs = copy_out(tx, _RRU, {"ids": ids.tolist()}, {"reservation": ">i8", "type": ">i8", "rru": ">f8"})
    type_ids = np.unique(pairs["type"].astype(np.int64))
    rru = np.zeros((len(ids), len(type_ids)))
    rru[rows_of(pairs["reservation"].astype(np.int64), ids), rows_of(pairs["type"].astype(np.int64), type_ids)] = pairs[
        "rru"
    ]
    names = np.array([row.name for row in tx.execute(_TYPES, {"ids": type_ids.tolist()})], object)
    asked = list(load_asked(tx, ids, with_guests=True).values())
    resources = listed_resources(names, load_sizes_and_guests(tx, region_id, names), asked)
    measures = measures_of(asks["capacity"].astype(np.float64), rru, resources_table(asked, resources), resources)
    return ResourceWorths(
        ids=ids,
        type_ids=type_ids,
        worth=np.stack([one.share_rru(rru) for one in measures], axis=-1),
        weight=np.stack([one.weight for one in measures], axis=1),
        resources=tuple(one.resource for one in measures if one.resource is not None),
        units=np.stack([1.0 / (one.worth * one.share) for one in measures], axis=1),
    )


def _found(ids: Ints, among: Ints) -> tuple[Indices, Bools]:
    """Return the place of each of `ids` (K,) in the ascending array `among`, and whether it is there."""
    if not len(among):
        return np.zeros(len(ids), np.int32), np.zeros(len(ids), bool)
    place = np.minimum(np.searchsorted(among, ids), len(among) - 1)
    return place.astype(np.int32), np.asarray(among[place] == ids)
