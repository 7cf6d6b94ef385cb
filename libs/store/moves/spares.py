"""Spare servers: lent to a reservation for the time of an exchange, and taken back. Their targets stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

import numpy as np
import orjson
import sqlalchemy as sa

from libs.domain.spare import LENT_SHARE_MAX, IdleServers, Loan, Spare
from libs.store.fleet.domain_limits import HAS_HARD
from libs.store.fleet.guests import ASKED
from libs.store.fleet.loss_places import LossPlaces
from libs.store.fleet.snapshot import BOOKED, LEAVING
from libs.store.platform.bulk import copy_out
from libs.store.platform.database import Transaction

_LIKE_MAX = 4
"""Idle servers of one place and hardware type that are read: more of the same would hardly help."""
GOAL = """(CASE WHEN spare_recalled_at IS NULL THEN coalesce(spare_for_reservation_id, target_reservation_id)
             ELSE target_reservation_id END)"""
"""The reservation that the mover brings a server to: the borrower, while the server is lent."""
LENT = "(spare_for_reservation_id IS NOT NULL AND spare_recalled_at IS NULL)"
_SPARES = sa.text(f"""
    SELECT server_id, servers.name AS server, servers.generation, spare_for_reservation_id AS reservation_id,
           borrows.name AS reservation, spare_until AS until, spare_recalled_at AS recalled_at,
           coalesce(current_reservation_id = spare_for_reservation_id, false) AS has_joined,
           coalesce(target_reservation_id = spare_for_reservation_id, false) AS keeps,
           unavailability = 'none' AS is_up,
           current_reservation_id IS DISTINCT FROM spare_for_reservation_id
               AND in_doubt_reservation_id IS DISTINCT FROM spare_for_reservation_id
               AND NOT EXISTS (SELECT FROM moves WHERE moves.server_id = servers.server_id AND status = 'running'
                               AND to_reservation_id = spare_for_reservation_id) AS has_left,
           unavailability = 'none' AND borrows.deleted_at IS NULL AND coalesce(home.kind = 'shared_buffer', true)
               AND NOT {LEAVING} AND NOT EXISTS (
                   SELECT FROM moves WHERE moves.server_id = servers.server_id AND dead_letter = 'open') AS usable
    FROM servers JOIN reservations AS borrows ON borrows.reservation_id = spare_for_reservation_id
    LEFT JOIN reservations AS home ON home.reservation_id = target_reservation_id
    WHERE servers.region_id = :region_id AND spare_for_reservation_id IS NOT NULL ORDER BY server_id""")
_UP = f"unavailability = 'none' AND decommissioned_at IS NULL AND NOT {LEAVING}"
_READY = """current_reservation_id IS NOT DISTINCT FROM target_reservation_id
          AND in_doubt_reservation_id IS NULL AND spare_for_reservation_id IS NULL
          AND NOT EXISTS (SELECT FROM moves WHERE moves.server_id = servers.server_id
                          AND (status = 'running' OR dead_letter = 'open'))"""
# A free server below a limit on power would add watts that no plan counts. One of a shared buffer counts in full.
_POWERED = """EXISTS (
    SELECT FROM power_limits CROSS JOIN jsonb_to_recordset(limits) AS one (kind text, domain text)
    WHERE power_limits.region_id = servers.region_id AND (
        one.kind = 'MSB' AND one.domain = (SELECT msbs.name FROM msbs WHERE msbs.msb_id = racks.msb_id)
        OR EXISTS (SELECT FROM server_domains JOIN domains USING (domain_id)
                   WHERE server_domains.server_id = servers.server_id
                     AND domains.kind = one.kind AND domains.name = one.domain)))"""
# An unclean server takes longer to join.
_IDLE = f"""
    SELECT server_id, generation, msb_id, hardware_type_id, coalesce(target_reservation_id, 0) AS buffer_id{{chosen}}
    FROM (
        SELECT servers.server_id, servers.generation, msb_id, hardware_type_id, target_reservation_id{{domains}},
               row_number() OVER (PARTITION BY msb_id, hardware_type_id, target_reservation_id IS NOT NULL{{partition}}
                                  ORDER BY unclean, servers.server_id) AS place
        FROM servers JOIN racks USING (rack_id) {{joins}}
        LEFT JOIN reservations AS home ON home.reservation_id = target_reservation_id
        WHERE servers.region_id = %(region_id)s AND {_UP} AND {_READY} AND NOT {BOOKED}
          AND (target_reservation_id IS NULL AND NOT {_POWERED} OR (home.kind = 'shared_buffer' AND NOT in_use))
    ) AS idle WHERE place <= %(like_max)s ORDER BY place, msb_id, server_id"""
_FIELDS = {"id": ">i8", "generation": ">i8", "msb_id": ">i8", "hardware_type_id": ">i8", "buffer_id": ">i8"}
_BUFFERS = sa.text(f"""
    SELECT target_reservation_id AS buffer_id, count(*) AS servers, count(*) FILTER (WHERE {_READY}) AS ready
    FROM servers JOIN reservations ON reservation_id = target_reservation_id
    WHERE servers.region_id = :region_id AND kind = 'shared_buffer' AND {_UP} GROUP BY target_reservation_id""")
# A lent server could break a hard limit of its reservation, so those with one borrow none. Nor do those that ask for
# resources: the worth of a lent server is in RRU alone.
_WORTH = sa.text(f"""
    SELECT reservation_id, hardware_type_id, rru FROM reservation_rru JOIN reservations USING (reservation_id)
    WHERE msb_share_max IS NULL
      AND NOT EXISTS (SELECT FROM reservation_datacenters AS allowed
                      WHERE allowed.reservation_id = reservations.reservation_id)
      AND NOT EXISTS (SELECT FROM reservation_domain_limits AS limits
                      WHERE limits.reservation_id = reservations.reservation_id AND {HAS_HARD})
      AND NOT EXISTS (SELECT FROM {ASKED} AS asked
                      WHERE asked.reservation_id = reservations.reservation_id)
      AND reservation_id IN (
        SELECT current_reservation_id FROM servers
        WHERE region_id = :region_id AND current_reservation_id IS DISTINCT FROM target_reservation_id
          AND target_reservation_id IS NOT NULL
        UNION ALL SELECT reservation_id FROM reservations WHERE region_id = :region_id AND profile_changed)""")
_WRITE = sa.text("""
    UPDATE servers SET
        spare_for_reservation_id = CASE loan.act WHEN 'forget' THEN NULL ELSE loan.reservation_id END,
        spare_since = CASE loan.act WHEN 'lend' THEN :now WHEN 'recall' THEN spare_since END,
        spare_until = CASE loan.act WHEN 'lend' THEN loan.until WHEN 'recall' THEN spare_until END,
        spare_recalled_at = CASE loan.act WHEN 'recall' THEN CAST(:now AS timestamptz) END
    FROM json_to_recordset(CAST(:loans AS json))
         AS loan (act text, server_id bigint, generation bigint, reservation_id bigint, until timestamptz)
    WHERE servers.server_id = loan.server_id AND servers.generation = loan.generation
      AND (loan.act <> 'lend' OR EXISTS (SELECT FROM reservations WHERE deleted_at IS NULL
                                         AND reservations.reservation_id = loan.reservation_id))""")
_LOCK = sa.text("SELECT FROM servers WHERE server_id = ANY(:ids) ORDER BY server_id FOR NO KEY UPDATE")


def load_spares(tx: Transaction, region_id: int) -> tuple[Spare, ...]:
    """Return the servers of a region that are lent."""
    return tuple(Spare(**row) for row in tx.execute(_SPARES, {"region_id": region_id}).mappings())


def load_idle_servers(tx: Transaction, region_id: int, places: LossPlaces) -> IdleServers:
    """Return servers of a region that may be lent: a few of each place and hardware type.

    `room` is the number of servers that a shared buffer may still lend. Servers that are lent already, or not in the
    buffer yet, are subtracted from it.
    """
    further = places.fields("domain", ">i8", msb=False)
    query = _IDLE.format(
        joins=places.joins,
        chosen="".join(f", {name}" for name in further),
        domains="".join(f", {domain} AS {name}" for name, domain in zip(further, places.domains, strict=True)),
        partition="".join(f", {domain}" for domain in places.domains),
    )
    found = copy_out(tx, query, {"region_id": region_id, "like_max": _LIKE_MAX}, {**_FIELDS, **further})
    worth = tx.execute(_WORTH, {"region_id": region_id})
    buffers = tx.execute(_BUFFERS, {"region_id": region_id})
    return IdleServers(
        **{name: found[name].astype(np.int64) for name in _FIELDS},
        domain_ids=np.asarray(places.stacked(found, "domain", msb=False), np.int64),
        rru={(row.reservation_id, row.hardware_type_id): row.rru for row in worth if row.rru > 0},
        room={row.buffer_id: int(LENT_SHARE_MAX * row.servers) - (row.servers - row.ready) for row in buffers},
    )


def write_loans(tx: Transaction, loans: Sequence[Loan], *, now: datetime) -> int:
    """Begin and end loans. Return the number of servers written.

    Skip a server that has changed since it was read: the next tick reads it again. Lend nothing to a deleted
    reservation.
    """
    tx.execute(_LOCK, {"ids": [loan.server_id for loan in loans]})
    document = orjson.dumps([asdict(loan) for loan in loans]).decode()
    return tx.execute(_WRITE, {"loans": document, "now": now}).rowcount
