"""The servers of a region at one moment, for comparison with an import."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Indices
from libs.domain.inventory_diff import KnownServers
from libs.store.fleet.regions import load_region
from libs.store.fleet.snapshot import LEAVING
from libs.store.fleet.topology import load_server_domains, load_topology, rows_of
from libs.store.platform.bulk import copy_out, raw_rows
from libs.store.platform.database import Transaction

IMPORTED = "imported"
"""Reason of the events that imports open. Imports end only events with this reason."""

_SERVERS = f"""
    SELECT server_id, generation, rack_id, {LEAVING}
    FROM servers WHERE region_id = %(region)s AND decommissioned_at IS NULL ORDER BY server_id"""
_WORDS = """
    SELECT servers.name, hardware_types.name, coalesce(holds.name, wants.name), unavailability,
           coalesce(reports.kind, 'none')
    FROM servers JOIN hardware_types USING (hardware_type_id)
    LEFT JOIN reservations AS holds ON holds.reservation_id = current_reservation_id
    LEFT JOIN reservations AS wants ON wants.reservation_id = target_reservation_id
    LEFT JOIN (SELECT server_id, max(kind) AS kind FROM unavailability_events
               WHERE region_id = %(region)s AND ended_at IS NULL AND scope = 'server' AND reason = %(reason)s
               GROUP BY 1) AS reports USING (server_id)
    WHERE servers.region_id = %(region)s AND decommissioned_at IS NULL ORDER BY server_id"""


def load_known_servers(tx: Transaction, region_name: str) -> KnownServers:
    """Return the servers of a region. `tx` must come from Database.snapshot(), so that all data are of one moment.
    Raises NotFound.
    """
    region_id = load_region(tx, region_name).region_id
    parameters = {"region": region_id, "reason": IMPORTED}
    topology, topology_ids = load_topology(tx, region_id)
    found = copy_out(tx, _SERVERS, parameters, {"id": ">i8", "generation": ">i8", "rack": ">i8", "leaving": "?"})
    words = np.empty((len(found), 5), object)
    for row, values in enumerate(raw_rows(tx, _WORDS, parameters)):
        words[row] = values
    name, hardware_type, reservation, unavailability, reported = words.T
    rack: Indices = rows_of(found["rack"], topology_ids.racks)
    return KnownServers(
        topology=topology,
        id=found["id"].astype(np.int64),
        generation=found["generation"].astype(np.int64),
        name=name,
        rack=rack,
        domain=load_server_domains(tx, region_id, topology_ids, found["id"].astype(np.int64)),
        hardware_type=hardware_type,
        reservation=reservation,
        leaving=found["leaving"].copy(),
        unavailability=unavailability,
        reported=reported,
    )
