"""Build failures of a small region by name."""

from collections.abc import Collection

import numpy as np

from libs.domain.fleet import FREE
from libs.domain.replacement import FailuresSnapshot
from tests.builders.region import region_image


def failures_snapshot(
    *, with_place: Collection[str] = (), not_ready: Collection[str] = (), **keywords: object
) -> FailuresSnapshot:
    """Return the snapshot that load_failures would read of the region with these keywords.

    with_place   servers that were lost with their MSB
    not_ready    spare servers that are still on their way to the buffer

    A buffer has one hardware type, which it counts on.
    """
    image = region_image(**keywords)  # type: ignore[arg-type]
    fleet = image.snapshot
    servers, q = fleet.servers, fleet.reservations
    buffer = np.full(len(fleet.hardware_types), FREE, np.int32)
    for row in np.flatnonzero(image.reservation_kind == "shared_buffer"):
        buffer[np.flatnonzero(q.rru[row])[0]] = row
    kind = np.append(image.reservation_kind, ["", ""])[servers.target]
    spare = servers.available & (kind == "shared_buffer") & (servers.target == buffer[servers.hardware_type])
    lost = ~servers.available & (kind == "guaranteed")
    return FailuresSnapshot(
        fleet=fleet,
        lost=lost,
        with_place=lost & np.array([name in with_place for name in servers.name]),
        spare=spare,
        ready=spare & np.array([name not in not_ready for name in servers.name]),
        buffer=buffer,
    )


def swaps(failures: FailuresSnapshot, target: np.ndarray) -> dict[str, str]:
    """Return server -> the reservation that it goes to, for changed servers."""
    servers = failures.fleet.servers
    rows = np.flatnonzero(target != servers.target)
    return {str(servers.name[row]): str(failures.fleet.reservations.name[target[row]]) for row in rows}
