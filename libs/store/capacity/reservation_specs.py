"""The spec of a reservation in tables: columns of `reservations`, and rows for its RRUs, affinities and datacenters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from libs.domain.reservation import CapacityUnit, ReservationSpec
from libs.store.fleet.domain_limits import add_domain_limits, load_domain_limits
from libs.store.fleet.guests import host_names, scale_rru
from libs.store.fleet.resources import add_asked, load_asked
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotPossible
from libs.store.tables import (
    datacenters,
    hardware_types,
    reservation_affinity,
    reservation_datacenters,
    reservation_domain_limits,
    reservation_resources,
    reservation_rru,
)


def spec_columns(spec: ReservationSpec) -> dict[str, object]:
    """Return the columns of `reservations` that a spec fills."""
    return {
        "host_profile": spec.host_profile,
        "unit": spec.unit,
        "capacity_rru": spec.capacity_rru,
        "survives_msb_loss": spec.survives_msb_loss,
        "survives_loss_of": list(spec.survives_loss_of),
        "msb_spread_limit": spec.msb_spread_limit,
        "rack_spread_limit": spec.rack_spread_limit,
        "priority": spec.priority,
        "move_cost": spec.move_cost,
        "gbit_per_rru": spec.gbit_per_rru,
        "msb_share_max": spec.msb_share_max,
        "workload_class": spec.workload_class,
        "affinity_follows": spec.affinity_follows,
        "starts_at": spec.starts_at,
        "ends_at": spec.ends_at,
    }


def write_spec_rows(tx: Transaction, region_id: int, reservation_id: int, spec: ReservationSpec) -> None:
    """Add the rows of a spec in the other tables. Raises NotPossible for an unknown hardware type or datacenter."""
    type_ids = _ids(tx, "rru", "hardware type", hardware_types.c.hardware_type_id, hardware_types.c.name, spec.rru)
    key: dict[str, object] = {"reservation_id": reservation_id}
    if spec.rru:
        rows = [key | {"hardware_type_id": type_ids[name], "rru": rru} for name, rru in spec.rru.items()]
        tx.execute(sa.insert(reservation_rru), rows)
        scale_rru(tx, [reservation_id])
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
    add_domain_limits(tx, region_id, reservation_id, spec.domain_limits)
    add_asked(tx, region_id, reservation_id, spec.resources)


def delete_spec_rows(tx: Transaction, reservation_id: int) -> None:
    """Delete the rows of a spec in the other tables."""
    tables = (reservation_rru, reservation_affinity, reservation_datacenters)
    for table in (*tables, reservation_domain_limits, reservation_resources):
        tx.execute(sa.delete(table).where(table.c.reservation_id == reservation_id))


def load_specs(tx: Transaction, rows: Sequence[sa.RowMapping]) -> dict[int, ReservationSpec]:
    """Return the spec of each reservation id, from rows of `reservations` and by a fixed number of queries."""
    ids = [row["reservation_id"] for row in rows]
    rru: dict[int, dict[str, float]] = {i: {} for i in ids}
    affinity: dict[int, dict[str, float]] = {i: {} for i in ids}
    whole = sa.func.coalesce(reservation_rru.c.whole_rru, reservation_rru.c.rru)
    pairs = sa.select(reservation_rru.c.reservation_id, hardware_types.c.name, whole)
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
    limits, asked, hosts = load_domain_limits(tx, ids), load_asked(tx, ids), host_names(tx, ids)
    return {
        row["reservation_id"]: ReservationSpec(
            capacity_rru=row["capacity_rru"],
            rru=rru[row["reservation_id"]],
            resources=asked[row["reservation_id"]],
            unit=CapacityUnit(row["unit"]),
            host_profile=row["host_profile"],
            survives_msb_loss=row["survives_msb_loss"],
            survives_loss_of=tuple(row["survives_loss_of"]),
            msb_spread_limit=row["msb_spread_limit"],
            rack_spread_limit=row["rack_spread_limit"],
            priority=row["priority"],
            move_cost=row["move_cost"],
            gbit_per_rru=row["gbit_per_rru"],
            msb_share_max=row["msb_share_max"],
            datacenters=tuple(allowed[row["reservation_id"]]),
            domain_limits=limits[row["reservation_id"]],
            workload_class=row["workload_class"],
            affinity=affinity[row["reservation_id"]],
            affinity_follows=row["affinity_follows"],
            guest_of=hosts.get(row["reservation_id"]),
            guest_share=row["server_share"] if row["reservation_id"] in hosts else None,
            starts_at=row["starts_at"],
            ends_at=row["ends_at"],
        )
        for row in rows
    }


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
