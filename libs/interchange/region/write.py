"""Write the files of a region folder from a RegionImage."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from libs.domain.arrays import Indices, Names
from libs.domain.domain_kind import UNPLACED
from libs.domain.fleet import DELETED, FleetSnapshot
from libs.domain.power import FULL_W, IDLE_W
from libs.domain.region_image import RegionImage
from libs.domain.reservation import CapacityUnit, ReservationKind
from libs.domain.resources import is_resource
from libs.domain.rru_catalogue import RegionCatalogue
from libs.domain.stacked_region import unstacked
from libs.domain.unavailability import Unavailability
from libs.interchange.files.atomic import replacing
from libs.interchange.files.policy import dump_policy
from libs.interchange.region.catalogue import dump_catalogue
from libs.interchange.region.domain_limits import limits_column
from libs.interchange.region.guests import guest_columns
from libs.interchange.region.power_limits import FILE as POWER
from libs.interchange.region.power_limits import dump_limits
from libs.interchange.region.read import HOST_PROFILE, OWNER
from libs.interchange.region.resources import amount_columns, amounts_by_type, asked_column
from libs.interchange.region.server_columns import DOMAIN_PREFIX, SIZES
from libs.interchange.region.uplinks import UPLINK, uplinks_column


def image_of(snapshot: FleetSnapshot) -> RegionImage:
    """Return the image of a snapshot, with defaults for all other columns. Deleted reservations are named `deleted`."""
    s, q = snapshot.servers, snapshot.reservations
    taken = set(q.name.tolist())
    label = "deleted"
    while label in taken:
        label += "_"
    current, target = np.full(len(s), None, object), np.full(len(s), None, object)
    current[s.current == DELETED], target[s.target == DELETED] = label, label
    owner = {guest.host: guest.owner for guest in snapshot.guests}  # a guest and its host have one
    units = snapshot.cost_units
    return RegionImage(
        snapshot=snapshot,
        server_host_profile=np.full(len(s), HOST_PROFILE, object),
        server_deleted_current=current,
        server_deleted_target=target,
        reservation_kind=np.full(len(q), ReservationKind.GUARANTEED.value, object),
        reservation_unit=np.full(len(q), CapacityUnit.RRU.value, object),
        reservation_owner=np.array([owner.get(str(name), OWNER) for name in q.name], object),
        reservation_host_profile=np.full(len(q), HOST_PROFILE, object),
        reservation_class=np.full(len(q), None, object),
        reservation_follows=np.full(len(q), None, object),
        hardware_type_attributes=_attributes(snapshot),
        catalogue=None
        if units is None
        else RegionCatalogue(cost_units=dict(zip(map(str, snapshot.hardware_types), units.tolist(), strict=True))),
    )


def _attributes(snapshot: FleetSnapshot) -> dict[str, dict[str, float]]:
    """Return hardware type -> its watts, and the resources that reservations ask for, as attributes."""
    watts, types = _watts(snapshot), snapshot.hardware_types
    amounts = amounts_by_type(snapshot.reservations.resources, snapshot.resources, types)
    own = {name: {key: one for key, one in of.items() if is_resource(key)} for name, of in amounts.items()}
    found = {name: watts.get(name, {}) | own.get(name, {}) for name in map(str, types)}
    return {name: figures for name, figures in found.items() if figures}


def _watts(snapshot: FleetSnapshot) -> dict[str, dict[str, float]]:
    """Return hardware type -> its watts as attributes. Leave out types without watts."""
    power = snapshot.power
    if power is None:
        return {}
    figures = zip(map(str, snapshot.hardware_types), power.idle_w.tolist(), power.full_w.tolist(), strict=True)
    return {name: {IDLE_W: idle, FULL_W: full} for name, idle, full in figures if full > 0}


def dump_region(image: RegionImage) -> dict[str, bytes]:
    """Return the content of each file by name.

    Some columns are written only if they are needed. `target` is written if it differs from the current bindings,
    and `leaving` and `awaited` if any server is that. `unavailability` is written if any server is in planned
    maintenance, and a size if it is known for any type. Each further kind of domain has its column of servers.
    `churned` of reservations is written if the churn budget applies, and `promised_rru` if the image says what was
    granted. `workload_class` is written if any reservation follows a class. `resources` is written if any reservation
    asks for one, and servers then have a column for it. `guest_of` and `guest_share` are written if there are guests,
    and `survives_loss_of` if any reservation names a kind of domain. The files of the catalogue are written if the
    image has one, and power_limits.parquet if there are limits. `uplink_gbit` of servers is written if a rack has a
    limit, and `gbit_per_rru` if a reservation sends anything.
    """
    guests, image = image.snapshot.guests, unstacked(image)
    s, q = image.snapshot.servers, image.snapshot.reservations
    topology = image.snapshot.topology
    msb, types = image.snapshot.server_msb, image.snapshot.hardware_types
    servers = {
        "server": _strings(s.name),
        "datacenter": _strings(topology.datacenters[topology.msb_datacenter[msb]]),
        "msb": _strings(topology.msbs[msb]),
        "rack": _strings(topology.racks[s.rack]),
        "hardware_type": _strings(types[s.hardware_type]),
        "reservation": _strings(_named(s.current, q.name, image.server_deleted_current)),
        "in_use": s.in_use,
        "available": s.available,
        "host_profile": _strings(image.server_host_profile),
    }
    deleted = image.server_deleted_current, image.server_deleted_target
    if not np.array_equal(s.current, s.target) or not np.array_equal(*deleted):
        servers["target"] = _strings(_named(s.target, q.name, image.server_deleted_target))
    for j, kind in enumerate(topology.kinds):
        of = pa.array(s.domain[:, j], mask=s.domain[:, j] == UNPLACED)
        servers[DOMAIN_PREFIX + kind.name] = _strings(kind.domains).take(of)
    if s.leaving.any():
        servers["leaving"] = s.leaving
    if s.awaited.any():
        servers["awaited"] = s.awaited
    if s.booked.any():
        servers["booked"] = s.booked
    if s.drained.any():
        states = np.where(s.drained, Unavailability.PLANNED.value, Unavailability.NONE.value)
        servers["unavailability"] = _strings(np.where(s.available, states, Unavailability.UNPLANNED.value))
    for size in SIZES:
        of_type = [image.hardware_type_attributes.get(str(name), {}).get(size) for name in types]
        if any(value is not None for value in of_type):
            servers[size] = pa.array(of_type, pa.float64()).take(pa.array(s.hardware_type))
    uplinks = uplinks_column(image.snapshot.uplinks, s.rack)
    if uplinks is not None:
        servers[UPLINK] = uplinks
    named = [size for size in SIZES if size in servers]
    servers |= amount_columns(q.resources, image.snapshot.resources, named, pa.array(s.hardware_type))
    reservations = {
        "reservation": _strings(q.name),
        "capacity_rru": q.capacity_rru,
        "survives_msb_loss": q.survives_msb_loss,
        "msb_spread_limit": pa.array(q.msb_spread_limit, mask=np.isinf(q.msb_spread_limit)),
        "rack_spread_limit": pa.array(q.rack_spread_limit, mask=np.isinf(q.rack_spread_limit)),
        "priority": q.priority,
        "move_cost": q.move_cost,
        "kind": _strings(image.reservation_kind),
        "unit": _strings(image.reservation_unit),
        "owner": _strings(image.reservation_owner),
        "host_profile": _strings(image.reservation_host_profile),
    }
    if q.gbit_per_rru.any():
        reservations["gbit_per_rru"] = q.gbit_per_rru
    if np.isfinite(q.msb_share_max).any():
        reservations["msb_share_max"] = pa.array(q.msb_share_max, mask=np.isinf(q.msb_share_max))
    limits = limits_column(q.domain_limits, topology.kinds)
    if limits is not None:
        reservations["domain_limits"] = limits
    asked = asked_column(q.resources, image.snapshot.resources)
    if asked is not None:
        reservations["resources"] = asked
    if not q.allowed.all():
        names = [None if row.all() else json.dumps(topology.datacenters[row].tolist()) for row in q.allowed]
        reservations["datacenters"] = pa.array(names, pa.string())
    if q.survives_loss_of.any():
        every = np.array([kind.name for kind in topology.kinds], object)
        texts = [json.dumps(every[row].tolist()) if row.any() else None for row in q.survives_loss_of]
        reservations["survives_loss_of"] = pa.array(texts, pa.string())
    if any(name is not None for name in image.reservation_class):
        reservations["workload_class"] = _strings(image.reservation_class)
    if any(name is not None for name in image.reservation_follows):
        reservations["affinity_follows"] = _strings(image.reservation_follows)
    reservations |= guest_columns(image.snapshot, guests)
    if image.snapshot.churned is not None:
        reservations["churned"] = image.snapshot.churned
    if image.snapshot.promised_rru is not None:
        reservations["promised_rru"] = image.snapshot.promised_rru
    r, t = np.nonzero(q.rru > 0)
    rru = {"reservation": _strings(q.name[r]), "hardware_type": _strings(types[t]), "rru": q.rru[r, t]}
    r, d = np.nonzero(~np.isnan(q.affinity_share))
    affinity = {
        "reservation": _strings(q.name[r]),
        "datacenter": _strings(topology.datacenters[d]),
        "share": q.affinity_share[r, d],
    }
    said = {} if image.catalogue is None else dump_catalogue(image.catalogue, types)
    power = image.snapshot.power
    if power is not None and power.limits:
        said[POWER] = dump_limits(power.limits)
    return {
        "servers.parquet": _parquet(servers),
        "reservations.parquet": _parquet(reservations),
        "rru.parquet": _parquet(rru),
        "affinity.parquet": _parquet(affinity),
        "policy.json": dump_policy(image.snapshot.policy),
        **{name: _parquet(columns) for name, columns in said.items()},
    }


def save_region(image: RegionImage, folder: str | os.PathLike[str]) -> None:
    """Write the files into a folder, each of them atomically."""
    for name, content in dump_region(image).items():
        with replacing(Path(folder) / name) as stream:
            stream.write(content)


def _named(binding: Indices, names: Names, deleted: Names) -> Names:
    named = np.array(deleted, object)
    bound = binding >= 0
    named[bound] = names[binding[bound]]
    return named


def _strings(names: Names) -> pa.Array:
    return pa.array(names, pa.string())


def _parquet(columns: dict[str, object]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream, compression="zstd")
    return stream.getvalue()
