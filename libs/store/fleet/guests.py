"""Guests of reservations in tables, and the resources of hosts that stand for them. See docs/designs/0061."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from libs.domain.arrays import Ints
from libs.domain.guest import Guest, guests_by_host, host_share
from libs.domain.reservation import CapacityUnit, ReservationSpec
from libs.domain.resources import GUEST_PREFIX
from libs.reconcile.errors import StaleGeneration
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import HasGuests

ASKED = f"""(
        SELECT region_id, reservation_id, resource, amount, CAST(NULL AS bigint) AS guest_id FROM reservation_resources
        UNION ALL
        SELECT region_id, host_reservation_id, '{GUEST_PREFIX}' || name, capacity_rru, reservation_id
        FROM reservations WHERE host_reservation_id IS NOT NULL AND deleted_at IS NULL
    )"""
"""SQL of all that reservations ask for beside their RRU: their own resources, and the capacity of each guest."""

_GUESTS = sa.text("""
    SELECT guest.reservation_id, guest.name, guest.owner, guest.generation, guest.capacity_rru, guest.unit,
           guest.survives_msb_loss, guest.survives_loss_of, guest.workload_class, guest.server_share AS guest_share,
           host.name AS guest_of,
           coalesce((SELECT jsonb_object_agg(hardware_types.name, coalesce(whole_rru, rru))
                     FROM reservation_rru JOIN hardware_types USING (hardware_type_id)
                     WHERE reservation_rru.reservation_id = guest.reservation_id), '{}') AS rru
    FROM reservations AS guest JOIN reservations AS host ON host.reservation_id = guest.host_reservation_id
    WHERE guest.region_id = :region_id AND guest.host_reservation_id IS NOT NULL AND guest.deleted_at IS NULL
      AND (CAST(:host AS text) IS NULL OR host.name = :host)
    ORDER BY guest.reservation_id""")
_AMOUNTS = sa.text("""
    SELECT hardware_types.name AS hardware_type, :prefix || guest.name AS resource, rru
    FROM reservations AS guest JOIN reservation_rru USING (reservation_id) JOIN hardware_types USING (hardware_type_id)
    WHERE guest.region_id = :region_id AND host_reservation_id IS NOT NULL AND deleted_at IS NULL""")
_HOST_NAMES = sa.text("""
    SELECT guest.reservation_id, host.name FROM reservations AS guest
    JOIN reservations AS host ON host.reservation_id = guest.host_reservation_id
    WHERE guest.reservation_id = ANY(CAST(:ids AS bigint[]))""")
_HOLDER = sa.text(
    "SELECT host_reservation_id FROM reservations WHERE reservation_id = :reservation_id AND deleted_at IS NULL"
)
_NAMES = sa.text("""
    SELECT name FROM reservations
    WHERE region_id = :region_id AND host_reservation_id = :reservation_id AND deleted_at IS NULL
    ORDER BY name COLLATE "C" """)
_SHARES = sa.text("""
    SELECT host_reservation_id, name, server_share FROM reservations
    WHERE host_reservation_id = ANY(CAST(:ids AS bigint[])) AND deleted_at IS NULL ORDER BY name COLLATE "C" """)
_FIND_HOST = sa.text("""
    SELECT reservation_id FROM reservations
    WHERE region_id = :region_id AND name = :name AND deleted_at IS NULL AND host_reservation_id IS NULL
    FOR NO KEY UPDATE""")
_HOST_OF = """(SELECT host_reservation_id FROM reservations WHERE reservation_id = :reservation_id)"""
_LOCK_HOST = sa.text(f"""
    SELECT reservation_id FROM reservations WHERE reservation_id = {_HOST_OF} FOR NO KEY UPDATE""")
_SHARE = sa.text(f"""
    UPDATE reservations SET generation = generation + 1, server_share = round(CAST(1 - (
        SELECT coalesce(sum(server_share), 0) FROM reservations AS guest
        WHERE guest.region_id = reservations.region_id AND guest.deleted_at IS NULL
          AND guest.host_reservation_id = reservations.reservation_id
    ) AS numeric), 9)
    WHERE reservation_id = {_HOST_OF} RETURNING reservation_id""")
_STACK = sa.text("""
    UPDATE reservations SET host_reservation_id = host_id, server_share = share
    FROM unnest(CAST(:ids AS bigint[]), CAST(:hosts AS bigint[]), CAST(:shares AS float8[])) AS one (id, host_id, share)
    WHERE reservation_id = id""")
_SCALE = sa.text("""
    UPDATE reservation_rru SET whole_rru = coalesce(whole_rru, rru), rru = coalesce(whole_rru, rru) * server_share
    FROM reservations WHERE reservations.reservation_id = reservation_rru.reservation_id
      AND reservations.reservation_id = ANY(CAST(:ids AS bigint[])) AND (server_share < 1 OR whole_rru IS NOT NULL)""")


def load_guests(tx: Transaction, region_id: int, host: str | None = None) -> tuple[Guest, ...]:
    """Return the live guests of a region, or of the host of this name, in order of id."""
    return tuple(
        Guest(
            reservation_id=row.reservation_id,
            name=row.name,
            owner=row.owner,
            generation=row.generation,
            spec=ReservationSpec(
                capacity_rru=row.capacity_rru,
                rru=dict(sorted(row.rru.items())),
                unit=CapacityUnit(row.unit),
                survives_msb_loss=row.survives_msb_loss,
                survives_loss_of=tuple(row.survives_loss_of),
                workload_class=row.workload_class,
                guest_of=row.guest_of,
                guest_share=row.guest_share,
            ),
        )
        for row in tx.execute(_GUESTS, {"region_id": region_id, "host": host})
    )


def load_guest_amounts(tx: Transaction, region_id: int) -> dict[str, dict[str, float]]:
    """Return hardware type -> resource of a guest -> its RRU in one server of the host."""
    found: dict[str, dict[str, float]] = {}
    for row in tx.execute(_AMOUNTS, {"region_id": region_id, "prefix": GUEST_PREFIX}):
        found.setdefault(row.hardware_type, {})[row.resource] = row.rru
    return found


def host_names(tx: Transaction, ids: Sequence[int]) -> dict[int, str]:
    """Return the name of the host of each guest among the reservations."""
    return dict(tx.execute(_HOST_NAMES, {"ids": list(ids)}).tuples().all())


def holder_id(tx: Transaction, reservation_id: int) -> int:
    """Return the id of the reservation that holds the servers of this one: of a live guest its host, else its own."""
    return int(tx.execute(_HOLDER, {"reservation_id": reservation_id}).scalar_one_or_none() or reservation_id)


def guest_columns(tx: Transaction, region_id: int, spec: ReservationSpec) -> dict[str, object]:
    """Return the columns of `reservations` that make a reservation a guest; {} if its spec names no host. The host is
    locked until the transaction ends. Raises StaleGeneration if it is gone.
    """
    if spec.guest_of is None:
        return {}
    host_id = tx.execute(_FIND_HOST, {"region_id": region_id, "name": spec.guest_of}).scalar_one_or_none()
    if host_id is None:
        raise StaleGeneration("reservation", spec.guest_of, expected=1, found=None)
    return {"host_reservation_id": host_id, "server_share": spec.guest_share}


def require_no_guests(tx: Transaction, region_id: int, reservation_id: int, name: str) -> None:
    """Raise HasGuests if the reservation has guests. It must be locked, so that no guest comes until it is deleted."""
    names = tx.execute(_NAMES, {"region_id": region_id, "reservation_id": reservation_id}).scalars().all()
    if names:
        raise HasGuests(name, names)


def guest_shares(tx: Transaction, ids: Sequence[int]) -> dict[int, dict[str, float]]:
    """Return the live guests of each host among the reservations: name -> share of each server."""
    found: dict[int, dict[str, float]] = {}
    for host_id, name, share in tx.execute(_SHARES, {"ids": list(ids)}).tuples():
        found.setdefault(host_id, {})[name] = share
    return found


def lock_host(tx: Transaction, reservation_id: int) -> None:
    """Lock the host of a guest until the transaction ends; lock nothing for any other reservation.

    Call it before the guest is locked: reservations are locked in the order of their ids, and the host is older.
    """
    tx.execute(_LOCK_HOST, {"reservation_id": reservation_id}).all()


def share_servers(tx: Transaction, reservation_id: int) -> None:
    """Set the share of its servers that the host of a guest has, and raise its generation. Do nothing for any other
    reservation. Call it after each change of a guest.
    """
    scale_rru(tx, list(tx.execute(_SHARE, {"reservation_id": reservation_id}).scalars()))


def stack_guests(tx: Transaction, guests: Sequence[Guest], ids: Mapping[str, int]) -> None:
    """Make guests of stored reservations of a new region, which no other transaction reads yet. `ids`: by name."""
    if not guests:
        return
    hosts = guests_by_host(guests)
    rows = [ids[guest.name] for guest in guests] + [ids[host] for host in hosts]
    values = {
        "ids": rows,
        "hosts": [ids[guest.host] for guest in guests] + [None] * len(hosts),
        "shares": [guest.share for guest in guests] + [host_share(mine) for mine in hosts.values()],
    }
    tx.execute(_STACK, values)
    scale_rru(tx, rows)


def scale_rru(tx: Transaction, reservation_ids: Sequence[int] | Ints) -> None:
    """Set the RRU of reservations to those of their share of a server."""
    if len(reservation_ids):
        tx.execute(_SCALE, {"ids": [int(one) for one in reservation_ids]})
