"""Read what reservations hold in the domains that their hard limits name, for the decision what to commit."""

from __future__ import annotations

import numpy as np
import sqlalchemy as sa

from libs.domain.arrays import Floats, Indices, Ints
from libs.domain.domain_kind import UNPLACED
from libs.domain.domain_limits import DATACENTER, LIMITS, MSB, rru_of
from libs.domain.plan_changes import LimitedDomains
from libs.store.capacity.coverage import BY_TARGET
from libs.store.fleet.domain_limits import HAS_HARD, load_limits_of_kind
from libs.store.fleet.topology import rows_of
from libs.store.platform.bulk import copy_out
from libs.store.platform.database import Transaction

_KINDS = sa.text(f"""
    SELECT DISTINCT kind FROM reservation_domain_limits
    WHERE reservation_id = ANY(:ids) AND {HAS_HARD} ORDER BY kind""")
# For the kinds that every region has, the domain is a column; for the others a row of server_domains.
_DOMAIN = {DATACENTER: "msbs.datacenter_id", MSB: "racks.msb_id"}
_PLACED = f"coalesce(placed_domain, {UNPLACED})"
_JOINS = """JOIN racks USING (rack_id) JOIN msbs USING (msb_id)
    LEFT JOIN (SELECT server_id AS placed_id, domain_id AS placed_domain FROM server_domains
               WHERE kind = %(kind)s) AS place ON placed_id = servers.server_id"""
_HELD = f"""
    SELECT target_reservation_id, {{domain}}, count(*), coalesce(sum(rru), 0)
    FROM servers {_JOINS}
    LEFT JOIN reservation_rru ON reservation_rru.reservation_id = target_reservation_id
                             AND reservation_rru.hardware_type_id = servers.hardware_type_id
    WHERE target_reservation_id = ANY(%(ids)s) AND {BY_TARGET}
    GROUP BY 1, 2"""
_CHANGED = f"""
    SELECT coalesce(found.domain, {UNPLACED}), coalesce(counts, false)
    FROM unnest(CAST(%(server_ids)s AS bigint[])) WITH ORDINALITY AS delta (id, place)
    LEFT JOIN (SELECT servers.server_id, {{domain}} AS domain, {BY_TARGET} AS counts
               FROM servers {_JOINS} WHERE servers.server_id = ANY(%(server_ids)s)) AS found ON server_id = delta.id
    ORDER BY place"""


def load_limited_domains(
    tx: Transaction, ids: Ints, capacity_rru: Floats, server_ids: Ints
) -> tuple[LimitedDomains, ...]:
    """Return the kinds of domain that hard limits of the reservations `ids` (Q,) name, with what each holds by target.

    capacity_rru   (Q,)
    server_ids     (N,) the servers of a plan's changes
    """
    if not len(ids):
        return ()
    kinds = tx.execute(_KINDS, {"ids": ids.tolist()}).scalars().all()
    return tuple(_limited(tx, kind, ids, capacity_rru, server_ids) for kind in kinds)


def _limited(tx: Transaction, kind: str, ids: Ints, capacity_rru: Floats, server_ids: Ints) -> LimitedDomains:
    limits = load_limits_of_kind(tx, kind, ids)
    rows = rows_of(limits["id"].astype(np.int64), ids)
    table = np.full((len(ids), len(LIMITS)), np.inf)
    table[rows] = np.stack([limits[name] for name in LIMITS], axis=1)
    domain = _DOMAIN.get(kind, _PLACED)
    fields = {"reservation": ">i8", "domain": ">i8", "servers": ">i8", "rru": ">f8"}
    parameters = {"kind": kind, "ids": limits["id"].tolist(), "server_ids": server_ids.tolist()}
    held = copy_out(tx, _HELD.format(domain=domain), parameters, fields)
    changed = copy_out(tx, _CHANGED.format(domain=domain), parameters, {"domain": ">i8", "counts": "?"})
    held_domain, changed_domain = held["domain"].astype(np.int64), changed["domain"].astype(np.int64)
    known = np.unique(np.concatenate([held_domain, changed_domain]))
    known = known[known != UNPLACED]
    shape = (len(ids), len(known) + 1)
    servers, load = np.zeros(shape, np.int64), np.zeros(shape)
    where = (rows_of(held["reservation"].astype(np.int64), ids), _columns(held_domain, known))
    servers[where], load[where] = held["servers"], held["rru"]
    return LimitedDomains(
        kind=kind,
        placed=len(known),
        domains_max=table[:, 0],
        servers_max=table[:, 1],
        rru_max=rru_of(table[:, 2], capacity_rru),
        servers=servers,
        load=load,
        of=_columns(changed_domain, known),
        counts=changed["counts"].copy(),
    )


def _columns(domain_ids: Ints, known: Ints) -> Indices:
    """Return the column of each domain in `known`, ascending; the column after them for UNPLACED."""
    if not len(known):
        return np.zeros(len(domain_ids), np.int32)
    return np.where(domain_ids == UNPLACED, len(known), rows_of(domain_ids, known)).astype(np.int32)
