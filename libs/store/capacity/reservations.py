"""Reservations. Every change is a compare-and-swap on the generation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.domain.finding import Finding
from libs.domain.page import Page
from libs.domain.reservation import CapacityUnit, Reservation, ReservationKind, ReservationSpec
from libs.domain.reservation_phase import ReservationPhase
from libs.reconcile.errors import StaleGeneration
from libs.store.capacity.coverage import SHORT, coverage_query, load_coverage
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import AlreadyExists, NotFound, NotPossible
from libs.store.tables import (
    datacenters,
    hardware_types,
    regions,
    reservation_affinity,
    reservation_datacenters,
    reservation_rru,
    reservation_statuses,
    reservations,
)

_found = reservation_statuses
_SELECT = (
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
    )
    .join(regions, regions.c.region_id == reservations.c.region_id)
    .outerjoin(_found, _found.c.reservation_id == reservations.c.reservation_id)
)

_SHORT = sa.text(f"""
    WITH wanted AS (
        SELECT reservation_id, capacity_rru, survives_msb_loss FROM reservations
        WHERE deleted_at IS NULL AND NOT scheduled AND reservation_id > :short_after
        AND (CAST(:short_region AS text) IS NULL
            OR region_id = (SELECT region_id FROM regions WHERE name = :short_region))
        AND (CAST(:short_owner AS text) IS NULL OR owner = :short_owner)
    ), {coverage_query("target")}
    SELECT reservation_id FROM coverage WHERE {SHORT}""")


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
    """
    values = {
        "region_id": region_id,
        "name": name,
        "kind": ReservationKind.GUARANTEED,
        "owner": owner,
        "created_at": now,
        "scheduled": scheduled,
        **_columns(spec),
    }
    live = reservations.c.deleted_at.is_(None)
    statement = insert(reservations).values(values)
    statement = statement.on_conflict_do_nothing(index_elements=["region_id", "name"], index_where=live)
    reservation_id: int | None = tx.execute(statement.returning(reservations.c.reservation_id)).scalar_one_or_none()
    if reservation_id is None:
        raise AlreadyExists("reservation", name)
    _write_pairs(tx, region_id, reservation_id, spec)
    return reservation_id


def update_spec(
    tx: Transaction, reservation_id: int, spec: ReservationSpec, *, generation: int, scheduled: bool = False
) -> int:
    """Set the spec of a reservation, and return its new generation. `scheduled` says that the reservation's window has
    not begun.

    Raises NotFound. Raises StaleGeneration unless the reservation is live and at `generation`. Raises NotPossible like
    create_reservation.
    """
    row = _require_generation(tx, reservation_id, generation)
    # Raise the generation here too: a change of RRUs or affinity alone changes no other column of this row.
    values = _columns(spec) | {"generation": generation + 1, "scheduled": scheduled}
    # The servers that it has are brought to a new host profile by the mover, few at a time.
    values["profile_changed"] = sa.or_(reservations.c.profile_changed, reservations.c.host_profile != spec.host_profile)
    tx.execute(sa.update(reservations).where(reservations.c.reservation_id == reservation_id).values(values))
    for table in (reservation_rru, reservation_affinity, reservation_datacenters):
        tx.execute(sa.delete(table).where(table.c.reservation_id == reservation_id))
    _write_pairs(tx, row.region_id, reservation_id, spec)
    return generation + 1


def delete_reservation(tx: Transaction, reservation_id: int, *, generation: int, now: datetime) -> None:
    """Mark a reservation as deleted. The caller must then call plans.commit_release, which frees its servers' targets.

    Raises NotFound, and StaleGeneration unless the reservation is live and at `generation`.
    """
    _require_generation(tx, reservation_id, generation)
    update = sa.update(reservations).where(reservations.c.reservation_id == reservation_id)
    tx.execute(update.values(deleted_at=now))


def load_reservation(tx: Transaction, reservation_id: int) -> Reservation:
    """Return one reservation, deleted or not. Raises NotFound."""
    rows = tx.execute(_SELECT.where(reservations.c.reservation_id == reservation_id)).mappings().all()
    if not rows:
        raise NotFound("reservation", reservation_id)
    return _with_parts(tx, rows)[0]


def find_reservation(tx: Transaction, region: str, name: str) -> Reservation | None:
    """Return the live reservation called `name`; None if there is none."""
    live = reservations.c.deleted_at.is_(None)
    rows = tx.execute(_SELECT.where(regions.c.name == region, reservations.c.name == name, live)).mappings().all()
    return _with_parts(tx, rows)[0] if rows else None


def live_names(tx: Transaction, region: str) -> frozenset[str]:
    """Return the names of the live reservations of a region."""
    query = sa.select(reservations.c.name).join(regions, regions.c.region_id == reservations.c.region_id)
    query = query.where(regions.c.name == region, reservations.c.deleted_at.is_(None))
    return frozenset(tx.execute(query).scalars())


def list_reservations(
    tx: Transaction,
    *,
    region: str | None = None,
    owner: str | None = None,
    name: str | None = None,
    kind: ReservationKind | None = None,
    phase: ReservationPhase | None = None,
    short: bool | None = None,
    after: int | None = None,
    limit: int = 100,
) -> Page[Reservation]:
    """Return a page of reservations in order of id. `after` is the last id of the page before. Deleted reservations are
    listed only with phase=DELETED.

    short   True: only reservations that their targets do not cover; False: only covered ones; None: both
    """
    query = _SELECT.order_by(reservations.c.reservation_id).limit(limit + 1)
    wanted = {
        regions.c.name: region,
        reservations.c.owner: owner,
        reservations.c.name: name,
        reservations.c.kind: kind,
    }
    query = query.where(*(column == value for column, value in wanted.items() if value is not None))
    deleted = reservations.c.deleted_at.is_not(None)
    query = query.where(deleted if phase is ReservationPhase.DELETED else ~deleted)
    if phase is ReservationPhase.SCHEDULED:
        query = query.where(reservations.c.scheduled)
    elif phase is ReservationPhase.PENDING:
        query = query.where(_found.c.phase.is_(None), ~reservations.c.scheduled)
    elif phase in (ReservationPhase.GRANTED, ReservationPhase.DEGRADED):
        query = query.where(_found.c.phase == phase)
    if short is not None:
        # Restrict it to the candidates, because coverage counts every server of a reservation.
        among = _SHORT.bindparams(short_after=after or 0, short_region=region, short_owner=owner)
        is_short = reservations.c.reservation_id.in_(among.columns(sa.column("reservation_id", sa.BigInteger)))
        query = query.where(is_short if short else ~is_short)
    if after is not None:
        query = query.where(reservations.c.reservation_id > after)
    rows = tx.execute(query).mappings().all()
    return Page.of(_with_parts(tx, rows), limit, lambda reservation: reservation.reservation_id)


def _require_generation(tx: Transaction, reservation_id: int, generation: int) -> sa.Row[tuple[int, int, datetime]]:
    """Lock the row of a reservation until the transaction ends, and return the row. Raises NotFound, and
    StaleGeneration unless the reservation is live and at `generation`.

    The lock (FOR NO KEY UPDATE) does not block a transaction that binds a locked server to the reservation. Servers are
    locked after reservations, so a lock that blocks this transaction would deadlock.
    """
    columns = (reservations.c.region_id, reservations.c.generation, reservations.c.deleted_at)
    query = sa.select(*columns).where(reservations.c.reservation_id == reservation_id)
    row = tx.execute(query.with_for_update(key_share=True)).one_or_none()
    if row is None:
        raise NotFound("reservation", reservation_id)
    if row.generation != generation or row.deleted_at is not None:
        found = None if row.deleted_at is not None else row.generation
        raise StaleGeneration("reservation", reservation_id, expected=generation, found=found)
    return row


def _columns(spec: ReservationSpec) -> dict[str, object]:
    return {
        "host_profile": spec.host_profile,
        "unit": spec.unit,
        "capacity_rru": spec.capacity_rru,
        "survives_msb_loss": spec.survives_msb_loss,
        "msb_spread_limit": spec.msb_spread_limit,
        "rack_spread_limit": spec.rack_spread_limit,
        "priority": spec.priority,
        "move_cost": spec.move_cost,
        "msb_share_max": spec.msb_share_max,
        "workload_class": spec.workload_class,
        "starts_at": spec.starts_at,
        "ends_at": spec.ends_at,
    }


def _write_pairs(tx: Transaction, region_id: int, reservation_id: int, spec: ReservationSpec) -> None:
    type_ids = _ids(tx, "rru", "hardware type", hardware_types.c.hardware_type_id, hardware_types.c.name, spec.rru)
    key: dict[str, object] = {"reservation_id": reservation_id}
    if spec.rru:
        rows = [key | {"hardware_type_id": type_ids[name], "rru": rru} for name, rru in spec.rru.items()]
        tx.execute(sa.insert(reservation_rru), rows)
    in_region = datacenters.c.region_id == region_id
    columns = (datacenters.c.datacenter_id, datacenters.c.name)
    datacenter_ids = _ids(tx, "affinity", "datacenter", *columns, spec.affinity, in_region)
    if spec.affinity:
        key["region_id"] = region_id
        rows = [key | {"datacenter_id": datacenter_ids[name], "share": share} for name, share in spec.affinity.items()]
        tx.execute(sa.insert(reservation_affinity), rows)
    if spec.datacenters:
        ids = _ids(tx, "datacenters", "datacenter", *columns, dict.fromkeys(spec.datacenters, 1.0), in_region)
        pair = {"reservation_id": reservation_id, "region_id": region_id}
        tx.execute(sa.insert(reservation_datacenters), [pair | {"datacenter_id": ids[name]} for name in ids])


def _ids(
    tx: Transaction,
    field: str,
    noun: str,
    key: sa.Column[int],
    name: sa.Column[str],
    wanted: Mapping[str, float],
    *where: sa.ColumnElement[bool],
) -> dict[str, int]:
    rows = tx.execute(sa.select(name, key).where(name.in_(wanted), *where)).tuples()
    found = dict(rows.all())
    unknown = sorted(set(wanted) - set(found))
    if unknown:
        raise NotPossible(f"{field}.{unknown[0]}", f"there is no {noun} {unknown[0]}")
    return found


def _with_parts(tx: Transaction, rows: Sequence[sa.RowMapping]) -> list[Reservation]:
    """Return reservations with their RRUs, affinities and coverage, by a fixed number of queries per page."""
    ids = [row["reservation_id"] for row in rows]
    rru: dict[int, dict[str, float]] = {i: {} for i in ids}
    affinity: dict[int, dict[str, float]] = {i: {} for i in ids}
    pairs = sa.select(reservation_rru.c.reservation_id, hardware_types.c.name, reservation_rru.c.rru)
    pairs = pairs.join(hardware_types, hardware_types.c.hardware_type_id == reservation_rru.c.hardware_type_id)
    pairs = pairs.where(reservation_rru.c.reservation_id.in_(ids)).order_by(hardware_types.c.name)
    for reservation_id, name, value in tx.execute(pairs).tuples():
        rru[reservation_id][name] = value
    shares = sa.select(reservation_affinity.c.reservation_id, datacenters.c.name, reservation_affinity.c.share)
    shares = shares.join(datacenters, datacenters.c.datacenter_id == reservation_affinity.c.datacenter_id)
    shares = shares.where(reservation_affinity.c.reservation_id.in_(ids)).order_by(datacenters.c.name)
    for reservation_id, name, value in tx.execute(shares).tuples():
        affinity[reservation_id][name] = value
    allowed: dict[int, list[str]] = {i: [] for i in ids}
    places = sa.select(reservation_datacenters.c.reservation_id, datacenters.c.name)
    places = places.join(datacenters, datacenters.c.datacenter_id == reservation_datacenters.c.datacenter_id)
    places = places.where(reservation_datacenters.c.reservation_id.in_(ids)).order_by(datacenters.c.name)
    for reservation_id, name in tx.execute(places).tuples():
        allowed[reservation_id].append(name)
    current, target, held = (load_coverage(tx, ids, which) for which in ("current", "target", "held"))
    return [
        Reservation(
            reservation_id=row["reservation_id"],
            region=row["region"],
            name=row["name"],
            kind=ReservationKind(row["kind"]),
            owner=row["owner"],
            spec=ReservationSpec(
                capacity_rru=row["capacity_rru"],
                rru=rru[row["reservation_id"]],
                unit=CapacityUnit(row["unit"]),
                host_profile=row["host_profile"],
                survives_msb_loss=row["survives_msb_loss"],
                msb_spread_limit=row["msb_spread_limit"],
                rack_spread_limit=row["rack_spread_limit"],
                priority=row["priority"],
                move_cost=row["move_cost"],
                msb_share_max=row["msb_share_max"],
                datacenters=tuple(allowed[row["reservation_id"]]),
                workload_class=row["workload_class"],
                affinity=affinity[row["reservation_id"]],
                starts_at=row["starts_at"],
                ends_at=row["ends_at"],
            ),
            scheduled=row["scheduled"],
            generation=row["generation"],
            created_at=row["created_at"],
            deleted_at=row["deleted_at"],
            finding=_finding(row),
            current=current[row["reservation_id"]],
            target=target[row["reservation_id"]],
            held=held[row["reservation_id"]],
        )
        for row in rows
    ]


def _finding(row: sa.RowMapping) -> Finding | None:
    if row["phase"] is None:
        return None
    fields = {name: row[name] for name in Finding.__dataclass_fields__}
    return Finding(**fields | {"phase": ReservationPhase(row["phase"])})
