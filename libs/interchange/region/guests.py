"""Read and write guests: the columns `guest_of` and `guest_share` of reservations.parquet (docs/designs/0061)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from libs.domain.fleet import FleetSnapshot
from libs.domain.guest import Guest, guest_fault, guests_by_host
from libs.domain.region_image import RegionImage
from libs.domain.reservation import ReservationKind
from libs.domain.stacked_region import guests_of_rows, spec_of_row, stacked
from libs.interchange.files.tables import Table

HOST, SHARE = "guest_of", "guest_share"


def with_guests_of_files(image: RegionImage, servers: Table, reservations: Table) -> RegionImage:
    """Return the region in which the guests that the column names are no rows any more.

    image   the region with a row of its snapshot for each row of reservations.parquet
    """
    if not reservations.has(HOST):
        return image
    column = reservations.strings(HOST, nullable=True)
    share = (
        reservations.numbers(SHARE, nullable=True) if reservations.has(SHARE) else np.full(len(reservations), np.nan)
    )
    names = {str(name): row for row, name in enumerate(image.snapshot.reservations.name)}
    unknown = column.matches(lambda name: name not in names)
    reservations.bad_rows(unknown, HOST, "{} is not a reservation", column.names)
    alone = ~np.isnan(share) & (column.codes < 0)
    reservations.bad_rows(alone, SHARE, f"is of no guest: name its host in {HOST}, or give null")
    if unknown.any():
        return image
    guests = guests_of_rows(image, column.names, np.nan_to_num(share))
    rows = [names[guest.name] for guest in guests]
    is_guest = np.zeros(len(reservations) + 1, bool)  # the last stands for no reservation
    is_guest[rows] = True
    for field in ("reservation", "target"):
        if servers.has(field):
            bound = image.snapshot.servers.current if field == "reservation" else image.snapshot.servers.target
            servers.bad_rows(is_guest[np.maximum(bound, -1)], field, "is a guest: bind the server to its host")
    faults = _faults(image, guests, names)
    for row, (field, message) in faults.items():
        reservations.bad_rows(np.arange(len(reservations)) == row, field, message.replace("{", "{{").replace("}", "}}"))
    return image if faults else stacked(image, guests)


def guest_columns(snapshot: FleetSnapshot, guests: tuple[Guest, ...]) -> dict[str, pa.Array]:
    """Return the columns of reservations.parquet for a region in which guests are rows; {} without guests."""
    if not guests:
        return {}
    of = {guest.name: guest for guest in guests}
    found = [of.get(str(name)) for name in snapshot.reservations.name]
    return {
        HOST: pa.array([None if one is None else one.host for one in found], pa.string()),
        SHARE: pa.array([None if one is None else one.share for one in found], pa.float64()),
    }


def _faults(image: RegionImage, guests: list[Guest], names: dict[str, int]) -> dict[int, tuple[str, str]]:
    """Return row -> the column and the message, for each guest that cannot be one."""
    found: dict[int, tuple[str, str]] = {}
    of = {guest.name: guest for guest in guests}
    for host, mine in guests_by_host(guests).items():
        spec = of[host].spec if host in of else spec_of_row(image, names[host])
        is_buffer = image.reservation_kind[names[host]] != ReservationKind.GUARANTEED.value
        owner = str(image.reservation_owner[names[host]])
        for place, guest in enumerate(mine):
            used = guest.spec.rru.keys() & spec.rru.keys()
            dropped = guest.spec.rru.keys() - used if used else ()  # a class of workload may change those of the host
            fault = guest_fault(guest.name, guest.spec, spec, mine[:place], dropped)
            if is_buffer:
                found[names[guest.name]] = (HOST, f"{host} is a shared buffer: name a reservation of an owner")
            elif guest.owner != owner:
                found[names[guest.name]] = (HOST, f"{host} is of {owner}, and a guest and its host have one owner")
            elif fault is not None:
                found[names[guest.name]] = (_column(fault.field), fault.message)
    return found


def _column(field: str) -> str:
    """Return the column of reservations.parquet to name for a field of a spec. RRU and affinity are other files."""
    return HOST if field.startswith(("rru", "affinity")) or field in ("starts_at", "ends_at") else field
