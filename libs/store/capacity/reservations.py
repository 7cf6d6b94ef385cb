"""Reservations. Every change is a compare-and-swap on the generation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TypeAlias

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.domain.finding import Finding
from libs.domain.page import Page
from libs.domain.reservation import Reservation, ReservationKind, ReservationName, ReservationSpec
from libs.domain.reservation_phase import ReservationPhase
from libs.reconcile.errors import StaleGeneration
from libs.store.capacity.bookings import COLUMNS, booking_of_row, delete_booking
from libs.store.capacity.coverage import Coverages, load_coverages
from libs.store.capacity.followed_shares import hold_followed
from libs.store.capacity.held_classes import hold_class
from libs.store.capacity.reservation_specs import delete_spec_rows, load_specs, spec_columns, write_spec_rows
from libs.store.fleet.guests import guest_columns, guest_shares, lock_host, require_no_guests, share_servers
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import AlreadyExists, NotFound
from libs.store.tables import bookings, regions, reservation_statuses, reservations

_Locked: TypeAlias = sa.Row[tuple[int, str, int, datetime]]
_found = reservation_statuses
SELECT = (
    sa.select(
        reservations,
        regions.c.name.label("region"),
        _found.c.observed_generation,
        _found.c.phase,
        _found.c.reason,
        _found.c.message,
        _found.c.numbers,
        _found.c.changed_at,
        _found.c.observed_at,
        *COLUMNS,
    )
    .join(regions, regions.c.region_id == reservations.c.region_id)
    .outerjoin(_found, _found.c.reservation_id == reservations.c.reservation_id)
    .outerjoin(bookings, bookings.c.reservation_id == reservations.c.reservation_id)
)
"""The rows that with_parts needs."""


def create_reservation(
    tx: Transaction,
    region_id: int,
    *,
    name: str,
    owner: str,
    spec: ReservationSpec,
    now: datetime,
    scheduled: bool = False,
) -> int:
    """Create a guaranteed reservation at generation 1, and return its id. If `scheduled`, the reservation gets no
    server until its window begins.

    Raises AlreadyExists if a live reservation has the name, and NotPossible for an unknown hardware type or datacenter.
    Raises StaleGeneration if the spec's class of workload was retired, or if the host of a guest is gone. Raises
    Overtaken if it may not follow the reservation that its shares follow.
    """
    hold_class(tx, region_id, spec.workload_class)
    values = {
        "region_id": region_id,
        "name": name,
        "kind": ReservationKind.GUARANTEED,
        "owner": owner,
        "created_at": now,
        "scheduled": scheduled,
        **spec_columns(spec),
        **guest_columns(tx, region_id, spec),
    }
    live = reservations.c.deleted_at.is_(None)
    statement = insert(reservations).values(values)
    statement = statement.on_conflict_do_nothing(index_elements=["region_id", "name"], index_where=live)
    reservation_id: int | None = tx.execute(statement.returning(reservations.c.reservation_id)).scalar_one_or_none()
    if reservation_id is None:
        raise AlreadyExists("reservation", name)
    hold_followed(tx, region_id, name, spec.affinity_follows)
    write_spec_rows(tx, region_id, reservation_id, spec)
    share_servers(tx, reservation_id)
    return reservation_id


def update_spec(
    tx: Transaction, reservation_id: int, spec: ReservationSpec, *, generation: int, scheduled: bool = False
) -> int:
    """Set the spec of a reservation, and return its new generation. `scheduled` says that the reservation's window has
    not begun.

    Raises NotFound. Raises StaleGeneration unless the reservation is live and at `generation`. Raises NotPossible and
    Overtaken like create_reservation.
    """
    lock_host(tx, reservation_id)
    row = lock_at_generation(tx, reservation_id, generation)
    hold_class(tx, row.region_id, spec.workload_class)
    hold_followed(tx, row.region_id, row.name, spec.affinity_follows)
    # Raise the generation here too: a change of RRUs or affinity alone changes no other column of this row.
    values = spec_columns(spec) | {"generation": generation + 1, "scheduled": scheduled}
    if spec.guest_of is not None:
        values |= guest_columns(tx, row.region_id, spec)
    before = load_reservation(tx, reservation_id).spec
    if not _has_units_of(before, spec):  # what was imported was in other units, but nothing stays nothing
        values["imported_rru"] = sa.case((reservations.c.imported_rru == 0, 0.0), else_=None)
    # The servers that it has are brought to a new host profile by the mover, few at a time.
    values["profile_changed"] = sa.or_(reservations.c.profile_changed, reservations.c.host_profile != spec.host_profile)
    tx.execute(sa.update(reservations).where(reservations.c.reservation_id == reservation_id).values(values))
    if not scheduled:
        delete_booking(tx, reservation_id)
    delete_spec_rows(tx, reservation_id)
    write_spec_rows(tx, row.region_id, reservation_id, spec)
    share_servers(tx, reservation_id)
    return generation + 1


def _has_units_of(before: ReservationSpec, spec: ReservationSpec) -> bool:
    """Return whether an RRU of `spec` is one of `before`: no hardware type of both is worth another number of them."""
    both = before.rru.keys() & spec.rru.keys()
    return before.unit is spec.unit and bool(both) and all(before.rru[t] == spec.rru[t] for t in both)


def delete_reservation(tx: Transaction, reservation_id: int, *, generation: int, now: datetime) -> None:
    """Mark a reservation as deleted. The caller must then call plans.commit_release, which frees its servers' targets.

    Raises NotFound, HasGuests, and StaleGeneration unless the reservation is live and at `generation`.
    """
    lock_host(tx, reservation_id)
    row = _lock(tx, reservation_id)
    # Before the generation: a guest that came meanwhile raised it, and is what the caller must know of.
    require_no_guests(tx, row.region_id, reservation_id, row.name)
    _require_generation(row, reservation_id, generation)
    update = sa.update(reservations).where(reservations.c.reservation_id == reservation_id)
    tx.execute(update.values(deleted_at=now))
    delete_booking(tx, reservation_id)
    share_servers(tx, reservation_id)


def load_reservation(tx: Transaction, reservation_id: int) -> Reservation:
    """Return one reservation, deleted or not. Raises NotFound."""
    rows = tx.execute(SELECT.where(reservations.c.reservation_id == reservation_id)).mappings().all()
    if not rows:
        raise NotFound("reservation", reservation_id)
    return with_parts(tx, rows)[0]


def find_reservation(tx: Transaction, region: str, name: str) -> Reservation | None:
    """Return the live reservation called `name`; None if there is none."""
    return next(iter(find_reservations(tx, region, [name])), None)


def find_reservations(tx: Transaction, region: str, names: Collection[str]) -> list[Reservation]:
    """Return the live reservations with these names. Leave out names that no live reservation has."""
    live = reservations.c.deleted_at.is_(None)
    rows = tx.execute(SELECT.where(regions.c.name == region, reservations.c.name.in_(names), live)).mappings().all()
    return with_parts(tx, rows) if rows else []


def live_names(tx: Transaction, region: str) -> frozenset[str]:
    """Return the names of the live reservations of a region."""
    query = sa.select(reservations.c.name).join(regions, regions.c.region_id == reservations.c.region_id)
    query = query.where(regions.c.name == region, reservations.c.deleted_at.is_(None))
    return frozenset(tx.execute(query).scalars())


def load_owners(tx: Transaction, region: str) -> dict[str, str]:
    """Return name -> owner of the reservations that have servers of their own and have begun. Shared buffers have no
    owner, and guests no servers. All of them are in the region's snapshot.
    """
    query = (
        sa.select(reservations.c.name, reservations.c.owner)
        .join(regions, regions.c.region_id == reservations.c.region_id)
        .where(
            regions.c.name == region,
            reservations.c.deleted_at.is_(None),
            ~reservations.c.scheduled,
            reservations.c.host_reservation_id.is_(None),
            reservations.c.kind == ReservationKind.GUARANTEED,
        )
    )
    return dict(tx.execute(query).tuples().all())


def list_reservation_names(
    tx: Transaction, region: str, *, kind: ReservationKind | None = None, after: int | None = None, limit: int = 100
) -> Page[ReservationName]:
    """Return a page of the live reservations of a region in order of id. `after` is the last id of the page before."""
    columns = (reservations.c[name] for name in ReservationName.__dataclass_fields__)
    query = sa.select(*columns).join(regions, regions.c.region_id == reservations.c.region_id)
    query = query.where(regions.c.name == region, reservations.c.deleted_at.is_(None))
    query = query.where(reservations.c.reservation_id > (after or 0))
    if kind is not None:
        query = query.where(reservations.c.kind == kind)
    rows = tx.execute(query.order_by(reservations.c.reservation_id).limit(limit + 1)).mappings()
    return Page.of([ReservationName(**row) for row in rows], limit, lambda one: one.reservation_id)


def lock_at_generation(tx: Transaction, reservation_id: int, generation: int) -> _Locked:
    """Lock the row of a reservation until the transaction ends, and return the row. Raises NotFound, and
    StaleGeneration unless the reservation is live and at `generation`.

    The lock (FOR NO KEY UPDATE) does not block a transaction that binds a locked server to the reservation. Servers are
    locked after reservations, so a lock that blocks this transaction would deadlock.
    """
    row = _lock(tx, reservation_id)
    _require_generation(row, reservation_id, generation)
    return row


def with_parts(tx: Transaction, rows: Sequence[sa.RowMapping], coverages: Coverages | None = None) -> list[Reservation]:
    """Return reservations with their specs and coverage, by a fixed number of queries per page. The caller may know the
    coverages.
    """
    ids = [row["reservation_id"] for row in rows]
    specs, guests = load_specs(tx, rows), guest_shares(tx, ids)
    coverages = load_coverages(tx, ids) if coverages is None else coverages
    return [
        Reservation(
            reservation_id=row["reservation_id"],
            region=row["region"],
            name=row["name"],
            kind=ReservationKind(row["kind"]),
            owner=row["owner"],
            spec=specs[row["reservation_id"]],
            scheduled=row["scheduled"],
            generation=row["generation"],
            created_at=row["created_at"],
            deleted_at=row["deleted_at"],
            finding=_finding(row),
            booking=booking_of_row(row) if row["scheduled"] else None,
            current=coverages["current"][row["reservation_id"]],
            target=coverages["target"][row["reservation_id"]],
            held=coverages["held"][row["reservation_id"]],
            guests=guests.get(row["reservation_id"], {}),
        )
        for row in rows
    ]


def _lock(tx: Transaction, reservation_id: int) -> _Locked:
    columns = (reservations.c.region_id, reservations.c.name, reservations.c.generation, reservations.c.deleted_at)
    query = sa.select(*columns).where(reservations.c.reservation_id == reservation_id)
    row = tx.execute(query.with_for_update(key_share=True)).one_or_none()
    if row is None:
        raise NotFound("reservation", reservation_id)
    return row


def _require_generation(row: _Locked, reservation_id: int, generation: int) -> None:
    if row.generation != generation or row.deleted_at is not None:
        found = None if row.deleted_at is not None else row.generation
        raise StaleGeneration("reservation", reservation_id, expected=generation, found=found)


def _finding(row: sa.RowMapping) -> Finding | None:
    if row["phase"] is None:
        return None
    fields = {name: row[name] for name in Finding.__dataclass_fields__}
    return Finding(**fields | {"phase": ReservationPhase(row["phase"])})
