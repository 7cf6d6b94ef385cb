"""Read what racks of a region hold, for a schedule of their drains."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

import numpy as np
import sqlalchemy as sa

from libs.domain.arrays import Ints, Names
from libs.domain.domain_kind import RACK
from libs.domain.drain_schedule import DrainGround
from libs.store.capacity.loss_ground import load_held, load_loss_rows
from libs.store.capacity.maintenance import SPARE_SERVERS
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound

_RACKS = """
    SELECT rack_id, racks.name, msbs.name AS msb, count(*) AS servers
    FROM racks JOIN msbs USING (msb_id) JOIN servers USING (rack_id)
    WHERE servers.region_id = :region_id AND decommissioned_at IS NULL
      AND (racks.name = ANY(:racks) OR msbs.name = ANY(:msbs) OR rack_id = ANY(:within))
    GROUP BY 1, 2, 3 ORDER BY 3, 2"""
_WITHIN = """
    SELECT DISTINCT domains.kind, domains.name, servers.rack_id
    FROM unnest(CAST(:kinds AS text[]), CAST(:names AS text[])) AS asked (kind, name)
    JOIN domains ON domains.kind = asked.kind AND domains.name = asked.name
    JOIN server_domains ON server_domains.domain_id = domains.domain_id
    JOIN servers ON servers.server_id = server_domains.server_id
    WHERE domains.region_id = :region_id AND decommissioned_at IS NULL"""
_SPARES = f"""
    SELECT hardware_types.name AS hardware_type, rack_id, count(*) AS servers
    FROM {SPARE_SERVERS} GROUP BY 1, 2 ORDER BY 1"""
_ASKED = """
    SELECT starts_at, ends_at FROM unavailability_events
    WHERE region_id = :region_id AND kind = 'planned' AND ended_at IS NULL AND state <> 'refused'"""


def load_drain_ground(
    tx: Transaction,
    region_name: str,
    *,
    racks: Collection[str],
    msbs: Collection[str],
    domains: Collection[tuple[str, str]] = (),
    now: datetime,
) -> DrainGround:
    """Return the racks to drain, with what reservations hold in each.

    racks     names of some of them
    msbs      MSBs of which all racks are
    domains   kind and name of domains of further kinds; each rack with a server in one is

    `tx` must come from Database.snapshot(). Raises NotFound that names a rack, MSB or domain without servers.
    """
    region_id = load_region(tx, region_name).region_id
    region, rows = load_loss_rows(tx, region_name)
    of_domains = _racks_within(tx, region_id, domains) if domains else []
    values = {"region_id": region_id, "racks": list(racks), "msbs": list(msbs), "within": of_domains}
    found = tx.execute(sa.text(_RACKS), values).all()
    for noun, asked, known in (("rack", racks, {r.name for r in found}), ("MSB", msbs, {r.msb for r in found})):
        missing = sorted(set(asked) - known)
        if missing:
            raise NotFound(noun, missing[0])
    msb_of = {str(name): m for m, name in enumerate(region.domain)}
    rack_ids = {row.rack_id: k for k, row in enumerate(found)}
    gone = load_held(tx, region_id, rows, rack_ids, kind=RACK).T
    spare_type, spare_servers, spare_gone = _spares(tx, region_id, rack_ids)
    asked_for = tx.execute(sa.text(_ASKED), {"region_id": region_id}).all()
    return DrainGround(
        region=region,
        rack=np.array([row.name for row in found], object),
        rack_msb=np.array([msb_of[row.msb] for row in found], np.int32),
        servers=np.array([row.servers for row in found], np.int64),
        gone_rru=gone,
        spare_type=spare_type,
        spare_servers=spare_servers,
        spare_gone=spare_gone,
        asked=tuple((row.starts_at, row.ends_at) for row in asked_for if row.ends_at is None or row.ends_at > now),
    )


def _spares(tx: Transaction, region_id: int, racks: Mapping[int, int]) -> tuple[Names, Ints, Ints]:
    """Return the (T,) hardware types that have spare servers, the (T,) numbers of these, and the (K, T) in the racks.

    racks   id of each of the K racks -> its row
    """
    found = tx.execute(sa.text(_SPARES), {"region_id": region_id}).all()
    types = list(dict.fromkeys(row.hardware_type for row in found))
    row_of = {name: t for t, name in enumerate(types)}
    servers, gone = np.zeros(len(types), np.int64), np.zeros((len(racks), len(types)), np.int64)
    for row in found:
        servers[row_of[row.hardware_type]] += row.servers
        if row.rack_id in racks:
            gone[racks[row.rack_id], row_of[row.hardware_type]] = row.servers
    return np.array(types, object), servers, gone


def _racks_within(tx: Transaction, region_id: int, domains: Collection[tuple[str, str]]) -> list[int]:
    """Return the ids of the racks with a server in one of the domains. Raises NotFound for one without servers."""
    kinds, names = zip(*domains, strict=True)
    values = {"region_id": region_id, "kinds": [*kinds], "names": [*names]}
    found = tx.execute(sa.text(_WITHIN), values).all()
    for kind, name in sorted({*domains} - {(row.kind, row.name) for row in found}):
        raise NotFound(kind, name)
    return sorted({row.rack_id for row in found})
