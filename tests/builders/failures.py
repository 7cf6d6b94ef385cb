"""Build failures of a small region by name."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

import numpy as np

from libs.domain.domain_kind import UNPLACED
from libs.domain.fleet import FREE
from libs.domain.replacement import FailuresSnapshot
from tests.builders.region import region_image


def failures_snapshot(
    *,
    with_place: Collection[str] = (),
    event_domain: Mapping[str, int] = MappingProxyType({}),
    not_ready: Collection[str] = (),
    down_s: float | Mapping[str, float] = 3600.0,
    swapped: Mapping[str, str] = MappingProxyType({}),
    **keywords: object,
) -> FailuresSnapshot:
    """Return the snapshot that load_failures would read of the region with these keywords.

    with_place   servers that were lost with their MSB
    event_domain  server -> the domain of a further kind whose event reports it
    not_ready    spare servers that are still on their way to the buffer
    down_s       seconds since servers went down; of each, by default 0
    swapped      server -> the reservation that it left in one plan of replacements, ten seconds ago

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
    since_s = np.array([down_s if isinstance(down_s, float) else down_s.get(name, 0.0) for name in servers.name])
    row_of = {str(name): row for row, name in enumerate(q.name)}
    return FailuresSnapshot(
        fleet=fleet,
        lost=lost,
        with_place=~servers.available & np.array([name in with_place for name in servers.name]),
        event_domain=np.array([event_domain.get(str(name), UNPLACED) for name in servers.name], np.int64),
        spare=spare,
        ready=spare & np.array([name not in not_ready for name in servers.name]),
        buffer=buffer,
        down_s=np.where(servers.available, np.inf, since_s),
        swap=np.array([7 * (name in swapped) for name in servers.name], np.int64),
        swap_from=np.array([row_of.get(swapped.get(name, ""), FREE) for name in servers.name], np.int32),
        swap_s=np.array([10.0 if name in swapped else np.inf for name in servers.name]),
    )


def swaps(failures: FailuresSnapshot, target: np.ndarray) -> dict[str, str]:
    """Return server -> the reservation that it goes to, for changed servers."""
    servers = failures.fleet.servers
    rows = np.flatnonzero(target != servers.target)
    return {str(servers.name[row]): str(failures.fleet.reservations.name[target[row]]) for row in rows}
