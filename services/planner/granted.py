"""The capacity that services are granted, by the table of their reservations."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from libs.domain.arrays import Floats
from libs.domain.service_reservation import ServiceReservation
from libs.domain.world import Vocabulary
from libs.flux.reservation_sizes import InRegion, Place, ReservationTable
from libs.interchange.files.tables import Content
from libs.interchange.planning_inputs.formats import stored_rows
from libs.interchange.planning_inputs.service_reservations import service_reservations_of
from libs.store.capacity.promised import load_promised_rru
from libs.store.ledger.planned_changes import PlannedDelta
from libs.store.planner.planning_inputs import load_current
from libs.store.platform.database import Transaction

TABLE = "service_reservations"
_GRANTED = pa.schema(
    [
        ("step", pa.float64()),
        ("service", pa.string()),
        ("region", pa.string()),
        ("hardware_type", pa.string()),
        ("capacity", pa.float64()),
    ]
)


def granted_capacity(tx: Transaction) -> dict[Place, float]:
    """Return the granted capacity by place, with headroom. A reservation of several places is left out, because the
    share of each place depends on its use.
    """
    current = load_current(tx, TABLE)
    if current is None:
        return {}
    table = ReservationTable(service_reservations_of(current[1]))
    return {place: rru / row.rru_per_unit for place, rru, row in _alone(table, load_promised_rru(tx))}


def granted_file(
    contents: Mapping[str, bytes],
    words: Vocabulary,
    steps: Sequence[int],
    reservations: Sequence[ServiceReservation],
    promised_rru: Mapping[InRegion, float],
    left: Sequence[PlannedDelta],
) -> dict[str, Content]:
    """Return the table `granted` of a world: what its services are granted, without headroom, until each step's end.

    left   what is left to happen of the changes by other writers; the table `ledger` that people put counts too

    Places whose reservation holds several services are left out, and so are those that the world does not have.
    """
    pairs = set(zip(words.services[words.placement_service], words.hardware_types[words.placement_type], strict=True))
    table, regions = ReservationTable(reservations), set(words.regions)
    granted = {place: rru / row.rru for place, rru, row in _alone(table, promised_rru)}
    granted = {p: capacity for p, capacity in granted.items() if (p[0], p[2]) in pairs and p[1] in regions}
    if not granted:
        return {}
    by_step = {place: np.full(len(steps), capacity) for place, capacity in granted.items()}
    for one in left:
        _add(by_step, (one.service, one.region, one.hardware_type), one.step, one.delta)
    for row in stored_rows(contents["ledger"]) if "ledger" in contents else ():
        first = 0 if row.get("step") is None else int(np.searchsorted(steps, float(row["step"])))
        _add(by_step, (row["service"], row["region"], row["hardware_type"]), first, row["delta"])
    rows = [
        (float(step), *place, max(0.0, float(amounts[t])))
        for place, amounts in by_step.items()
        for t, step in enumerate(steps)
    ]
    stream = io.BytesIO()
    columns = [list(column) for column in zip(*rows, strict=True)]
    pq.write_table(pa.table(dict(zip(_GRANTED.names, columns, strict=True)), schema=_GRANTED), stream)
    return {"granted.parquet": stream.getvalue()}


def _add(by_step: Mapping[Place, Floats], place: Place, first: int, delta: float) -> None:
    """Add a change to the amounts of a place from a step on."""
    if place in by_step:
        by_step[place][first:] += delta


def _alone(
    table: ReservationTable, promised_rru: Mapping[InRegion, float]
) -> Iterator[tuple[Place, float, ServiceReservation]]:
    """Yield the place, the size and the row of each reservation that holds one place alone."""
    for (region, reservation), rru in promised_rru.items():
        places = table.places(region, reservation)
        if len(places) == 1 and (row := table.find(places[0])) is not None:
            yield places[0], rru, row
