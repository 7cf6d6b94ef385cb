"""Import of a whole region from arrays: COPY for every table, in one transaction."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import sqlalchemy as sa

from libs.domain.arrays import Bools, Ints, Names
from libs.domain.domain_kind import UNPLACED
from libs.domain.fleet import DELETED, FREE
from libs.domain.plan import PlanKind
from libs.domain.region import Region
from libs.domain.region_image import RegionImage
from libs.domain.reservation import ReservationKind
from libs.domain.reservation_rows import Reservations
from libs.domain.rru_catalogue import RegionCatalogue
from libs.domain.stacked_region import unstacked
from libs.domain.unavailability import Unavailability
from libs.store.capacity.rru_catalogue import add_versions
from libs.store.capacity.shared_buffers import NAME_PREFIX as BUFFER_PREFIX
from libs.store.fleet.domain_limits import add_limits_table
from libs.store.fleet.guests import stack_guests
from libs.store.fleet.hardware_types import ensure_hardware_types, fill_attributes, fill_cost_units
from libs.store.fleet.inventory_snapshot import IMPORTED
from libs.store.fleet.power_limits import put_power_limits
from libs.store.fleet.rack_uplinks import put_imported_uplinks
from libs.store.fleet.regions import create_region, load_region
from libs.store.fleet.resources import add_asked_table
from libs.store.fleet.topology import add_server_domains, add_topology
from libs.store.platform import audit
from libs.store.platform.bulk import copy_in, new_ids
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotPossible
from libs.store.regions.waiting_requests import add_waiting_requests
from libs.store.tables import (
    plans,
    regions,
    reservation_affinity,
    reservation_datacenters,
    reservation_rru,
    reservations,
    servers,
    unavailability_events,
)

NAME_CHARACTERS_MAX = 200
REGION_BYTES_MAX = 200
"""Limit in bytes, because a region's name is also a folder's name."""


def import_region(tx: Transaction, image: RegionImage, *, actor: str, now: datetime) -> Region:
    """Create a region with everything in the image. A plan of kind `import` is the first of the region's lineage, the
    chain of its target plans.

    A guaranteed reservation keeps what the image says was granted of it. A request of the actor waits for the rest. A
    deleted reservation that servers are still bound to becomes a row with deleted_at set. An unavailable server gets
    an open unplanned event, and one in maintenance a planned one. The broker gives new ids and generations.

    Raises AlreadyExists if the region exists. Raises NotPossible for a name that is empty, too long or not printable.
    Raises it also for a server in use without a reservation, and for a row that the schema forbids. So it does for a
    promise of more than is asked for.
    """
    guests, image = image.snapshot.guests, unstacked(image)
    snapshot = image.snapshot
    _check(image)
    region_id = create_region(tx, snapshot.region, snapshot.policy, now=now)
    topology = add_topology(tx, region_id, snapshot.topology)
    type_ids = ensure_hardware_types(tx, snapshot.hardware_types, now=now)
    fill_attributes(tx, image.hardware_type_attributes)
    if image.catalogue is not None:
        _add_catalogue(tx, region_id, image.catalogue, actor, now)
    if snapshot.power is not None and snapshot.power.limits:
        put_power_limits(tx, region_id, snapshot.power.limits, generation=0, actor=actor, now=now)
    put_imported_uplinks(tx, region_id, snapshot, actor=actor, now=now)
    reservation_ids = _add_reservations(tx, region_id, image, now)
    _add_rru(tx, reservation_ids, type_ids, snapshot.reservations)
    _add_affinity(tx, region_id, reservation_ids, topology.datacenters, snapshot.reservations)
    add_limits_table(tx, region_id, reservation_ids, snapshot.reservations.domain_limits, snapshot.topology.kinds)
    add_asked_table(tx, region_id, reservation_ids, snapshot.reservations.resources, snapshot.resources)
    stack_guests(tx, guests, dict(zip(map(str, snapshot.reservations.name), reservation_ids.tolist(), strict=True)))
    add_waiting_requests(tx, region_id, image, guests, reservation_ids, requested_by=actor, now=now)
    server_ids = _add_servers(tx, region_id, image, topology.racks, type_ids, reservation_ids, now)
    add_server_domains(tx, region_id, snapshot.topology, topology, server_ids, snapshot.servers.domain)
    unavailability = _unavailability(image)
    for kind in (Unavailability.UNPLANNED, Unavailability.PLANNED):
        _add_events(tx, region_id, server_ids[unavailability == kind.value], kind, now)
    plan = {"region_id": region_id, "kind": PlanKind.IMPORT, "changes": len(server_ids), "left_alone": 0}
    plan_id = tx.execute(plans.insert().values(**plan, created_at=now).returning(plans.c.plan_id)).scalar_one()
    tx.execute(sa.update(regions).where(regions.c.region_id == region_id).values(target_plan_id=plan_id))
    audit.append(
        tx,
        actor=actor,
        action="import",
        subject_kind="region",
        subject_id=region_id,
        now=now,
        after={"servers": len(snapshot.servers), "reservations": len(snapshot.reservations)},
    )
    # Without new statistics, the planner would treat the tables as empty in the first queries.
    tx.execute(sa.text("ANALYZE servers, racks, reservations, reservation_rru"))
    return load_region(tx, snapshot.region)


def _check(image: RegionImage) -> None:
    s, q, t = image.snapshot.servers, image.snapshot.reservations, image.snapshot.topology
    idle = s.in_use & (s.current == FREE)
    if idle.any():
        raise NotPossible("in_use", f"server {s.name[idle.argmax()]} is in use, but bound to no reservation")
    both = (image.server_deleted_current, image.server_deleted_target)
    deleted = [np.array([*{name for name in names if name is not None}], object) for names in both]
    catalogue = image.catalogue or RegionCatalogue(cost_units={})
    columns: dict[str, Names] = {
        "server": s.name,
        "reservation": np.concatenate([q.name, *deleted]),
        "datacenter": t.datacenters,
        "msb": t.msbs,
        "rack": t.racks,
        **{f"domain:{kind.name}": kind.domains for kind in t.kinds},
        "hardware_type": np.union1d(image.snapshot.hardware_types, sorted(_types_named(catalogue))),
        "workload_class": np.array([*{one.workload_class for one in catalogue.versions}], object),
        "host_profile": np.concatenate([image.server_host_profile, image.reservation_host_profile]),
        "owner": image.reservation_owner,
        "region": np.array([image.snapshot.region], object),
    }
    for field, names in columns.items():
        for name in names:
            if not 0 < len(name) <= NAME_CHARACTERS_MAX or not name.isprintable():
                raise NotPossible(
                    field, f"{name[:40]!r}: a name has 1 to {NAME_CHARACTERS_MAX} characters, all printable"
                )
    if len(image.snapshot.region.encode()) > REGION_BYTES_MAX:
        raise NotPossible("region", f"{image.snapshot.region[:40]!r}: at most {REGION_BYTES_MAX} bytes in UTF-8")
    for k, kind in enumerate(t.kinds):
        named = np.flatnonzero(q.survives_loss_of[:, k])
        if len(named) and not (image.snapshot.servers.domain[:, k] != UNPLACED).any():
            message = f"{q.name[named[0]]}: no server has a place of the kind {kind.name}: fill domain:{kind.name}"
            raise NotPossible("survives_loss_of", message)
        limited = np.flatnonzero(np.isfinite(q.domain_limits[:, 2 + k]).any(1))
        if len(limited) and not (image.snapshot.servers.domain[:, k] != UNPLACED).any():
            message = f"{q.name[limited[0]]}: no server has a place of the kind {kind.name}: fill domain:{kind.name}"
            raise NotPossible("domain_limits", message)
    _check_buffers(image)
    _check_promises(image)
    for field in ("region", "hardware_type", "workload_class"):
        for name in columns[field]:
            if "/" in name or name in (".", ".."):
                raise NotPossible(field, f"{name!r} becomes part of a URL: it must not contain / or be . or ..")


def _check_buffers(image: RegionImage) -> None:
    """Check that only shared buffers have names with the prefix of shared buffers, and that each hardware type has at
    most one shared buffer.

    Each solve creates missing shared buffers under these names.
    """
    q, types = image.snapshot.reservations, image.snapshot.hardware_types
    for row, name in enumerate(q.name):
        if name.startswith(BUFFER_PREFIX) and (
            image.reservation_kind[row] != ReservationKind.SHARED_BUFFER
            or [*types[q.rru[row] > 0]] != [name.removeprefix(BUFFER_PREFIX)]
        ):
            message = f"{name}: this name is reserved for the shared buffer of a hardware type"
            raise NotPossible("reservation", message)
    buffers = np.flatnonzero(image.reservation_kind == ReservationKind.SHARED_BUFFER)
    of = q.rru[buffers] > 0
    for row in buffers[(of.sum(1) != 1) | (of & (of.sum(0) > 1)).any(1)]:
        message = f"{q.name[row]}: a shared buffer has exactly one hardware type, and each type has at most one"
        raise NotPossible("reservation", message)


def _check_promises(image: RegionImage) -> None:
    """Check that no reservation was granted more than it asks for, or an amount that is no finite number from 0."""
    q, promised = image.snapshot.reservations, image.snapshot.promised_rru
    if promised is None:
        return
    for row in np.flatnonzero(~((promised >= 0) & (promised <= q.capacity_rru))).tolist():
        message = f"{q.name[row]}: {promised[row]:g} RRU are promised, of {q.capacity_rru[row]:g} that it asks for"
        raise NotPossible("promised_rru", f"{message}: name from 0 to its capacity_rru")


def _add_catalogue(tx: Transaction, region_id: int, catalogue: RegionCatalogue, actor: str, now: datetime) -> None:
    """Add the classes, and the cost units of types that have none yet."""
    ensure_hardware_types(tx, sorted(_types_named(catalogue)), now=now)
    add_versions(tx, region_id, catalogue.versions)
    fill_cost_units(tx, catalogue.cost_units, actor=actor, now=now)


def _types_named(catalogue: RegionCatalogue) -> set[str]:
    return {*catalogue.cost_units, *(name for one in catalogue.versions for name in one.rru)}


def _add_reservations(tx: Transaction, region_id: int, image: RegionImage, now: datetime) -> Ints:
    q, promised = image.snapshot.reservations, image.snapshot.promised_rru
    promised_rru = q.capacity_rru if promised is None else promised
    ids = new_ids(tx, reservations.c.reservation_id, len(q))
    kinds = np.array([kind.name for kind in image.snapshot.topology.kinds], object)
    copy_in(
        tx,
        reservations,
        {
            "reservation_id": ids,
            "region_id": [region_id] * len(q),
            "name": q.name,
            "kind": image.reservation_kind,
            "owner": image.reservation_owner,
            "host_profile": image.reservation_host_profile,
            "unit": image.reservation_unit,
            "capacity_rru": q.capacity_rru,
            "imported_rru": _null(promised_rru, image.reservation_kind != ReservationKind.GUARANTEED),
            "survives_msb_loss": q.survives_msb_loss,
            "survives_loss_of": [kinds[row].tolist() for row in q.survives_loss_of],
            "msb_spread_limit": _null(q.msb_spread_limit, np.isinf(q.msb_spread_limit)),
            "rack_spread_limit": _null(q.rack_spread_limit, np.isinf(q.rack_spread_limit)),
            "priority": q.priority,
            "move_cost": q.move_cost,
            "gbit_per_rru": q.gbit_per_rru,
            "workload_class": image.reservation_class,
            "affinity_follows": image.reservation_follows,
            "msb_share_max": _null(q.msb_share_max, np.isinf(q.msb_share_max)),
            "created_at": [now] * len(q),
        },
    )
    return ids


def _add_tombstones(tx: Transaction, region_id: int, names: Names, now: datetime) -> Ints:
    """Add deleted reservations that servers are still bound to; return their ids."""
    ids = new_ids(tx, reservations.c.reservation_id, len(names))
    same = {
        "region_id": region_id,
        "kind": "guaranteed",
        "owner": "unknown",
        "host_profile": "default",
        "unit": "rru",
        "capacity_rru": 0.0,
        "survives_msb_loss": False,
        "created_at": now,
        "deleted_at": now,
    }
    copy_in(
        tx,
        reservations,
        {"reservation_id": ids, "name": names} | {name: [value] * len(names) for name, value in same.items()},
    )
    return ids


def _add_rru(tx: Transaction, reservation_ids: Ints, type_ids: Ints, q: Reservations) -> None:
    r, t = np.nonzero(q.rru)
    columns = {"reservation_id": reservation_ids[r], "hardware_type_id": type_ids[t], "rru": q.rru[r, t]}
    copy_in(tx, reservation_rru, columns)


def _add_affinity(
    tx: Transaction, region_id: int, reservation_ids: Ints, datacenter_ids: Ints, q: Reservations
) -> None:
    r, d = np.nonzero(~np.isnan(q.affinity_share))
    columns = {
        "region_id": np.full(len(r), region_id),
        "reservation_id": reservation_ids[r],
        "datacenter_id": datacenter_ids[d],
        "share": q.affinity_share[r, d],
    }
    copy_in(tx, reservation_affinity, columns)
    r, d = np.nonzero(q.allowed & ~q.allowed.all(1, keepdims=True))
    limits = {
        "region_id": np.full(len(r), region_id),
        "reservation_id": reservation_ids[r],
        "datacenter_id": datacenter_ids[d],
    }
    copy_in(tx, reservation_datacenters, limits)


def _add_servers(
    tx: Transaction,
    region_id: int,
    image: RegionImage,
    rack_ids: Ints,
    type_ids: Ints,
    reservation_ids: Ints,
    now: datetime,
) -> Ints:
    s = image.snapshot.servers
    deleted = {"current": (s.current, image.server_deleted_current), "target": (s.target, image.server_deleted_target)}
    names = np.unique(np.concatenate([name[binding == DELETED] for binding, name in deleted.values()]).astype(str))
    tombstone_ids = _add_tombstones(tx, region_id, names.astype(object), now)

    def bound(which: str) -> list[object]:
        binding, name = deleted[which]
        found = np.append(reservation_ids, 0)[np.maximum(binding, FREE)]
        gone = binding == DELETED
        found[gone] = tombstone_ids[np.searchsorted(names, name[gone].astype(str))]
        return _null(found, binding == FREE)

    ids = new_ids(tx, servers.c.server_id, len(s))
    copy_in(
        tx,
        servers,
        {
            "server_id": ids,
            "region_id": [region_id] * len(s),
            "name": s.name,
            "rack_id": rack_ids[s.rack],
            "hardware_type_id": type_ids[s.hardware_type],
            "current_reservation_id": bound("current"),
            "target_reservation_id": bound("target"),
            "in_use": s.in_use,
            "host_profile": image.server_host_profile,
            "unavailability": _unavailability(image),
        },
    )
    return ids


def _unavailability(image: RegionImage) -> Names:
    up = np.where(image.snapshot.servers.drained, Unavailability.PLANNED.value, Unavailability.NONE.value)
    return np.where(image.snapshot.servers.available, up, Unavailability.UNPLANNED.value).astype(object)


def _add_events(tx: Transaction, region_id: int, server_ids: Ints, kind: Unavailability, now: datetime) -> None:
    same = {
        "region_id": region_id,
        "scope": "server",
        "kind": kind.value,
        "reason": IMPORTED,
        "starts_at": now,
    }
    copy_in(
        tx,
        unavailability_events,
        {
            "unavailability_event_id": new_ids(tx, unavailability_events.c.unavailability_event_id, len(server_ids)),
            "server_id": server_ids,
        }
        | {name: [value] * len(server_ids) for name, value in same.items()},
    )


def _null(values: np.ndarray, where: Bools) -> list[object]:
    """Return the values as a list, with None where the mask is set."""
    column = values.astype(object)
    column[where] = None
    return column.tolist()  # type: ignore[no-any-return]
