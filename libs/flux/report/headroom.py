"""Compare the capacity that services are granted with their use at peak."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from libs.domain.world import ServiceModels, Vocabulary
from libs.flux.reservation_sizes import InRegion, Place, ReservationTable

EXCEEDED, MISSING = "HeadroomExceeded", "HeadroomMissing"


def headroom_document(
    words: Vocabulary,
    models: ServiceModels,
    table: ReservationTable,
    promised_rru: Mapping[InRegion, float],
    *,
    excess_max: float,
) -> list[dict[str, Any]]:
    """Return for each service that the table names: the granted capacity, the use at peak, and their ratio.

    promised_rru   what is granted of each reservation; services of one reservation share it in proportion to their use
    excess_max     largest granted capacity beyond use and headroom, as a share of both

    granted   capacity of the service's reservations over all regions, headroom included, in units of its own type
    used      its use in its daily peak window, in the same places
    headroom  granted / used; None without use
    wanted    1 + the headroom that the table asks for, weighted by use
    finding   HeadroomExceeded: granted beyond the bound; HeadroomMissing: less than wanted; None: neither
    """
    names = list(zip(words.services[words.placement_service], words.hardware_types[words.placement_type], strict=True))
    used: dict[Place, float] = {
        (str(service), str(region), str(kind)): float(models.baseline[k, r])
        for k, (service, kind) in enumerate(names)
        for r, region in enumerate(words.regions)
    }
    ratio = {pair: float(words.placement_ratio[k]) for k, pair in enumerate(names)}
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])  # granted, used, wanted
    for place, capacity in table.capacity_of(promised_rru, used).items():
        row = table.find(place)
        if row is None or place not in used:
            continue
        service, _, kind = place
        worth, wanted = ratio[service, kind], 1 + row.headroom
        sums[service][0] += worth * capacity * wanted
        sums[service][1] += worth * used[place]
        sums[service][2] += worth * used[place] * wanted
    return [_one(service, *amounts, excess_max=excess_max) for service, amounts in sorted(sums.items())]


def _one(service: str, granted: float, used: float, wanted: float, *, excess_max: float) -> dict[str, Any]:
    finding = None
    if granted > wanted * (1 + excess_max):
        finding = EXCEEDED
    elif granted < wanted * (1 - 1e-9):
        finding = MISSING
    return {
        "service": service,
        "granted": granted,
        "used": used,
        "headroom": granted / used if used > 0 else None,
        "wanted": wanted / used if used > 0 else None,
        "finding": finding,
    }
