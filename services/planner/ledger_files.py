"""Turn what the capacity ledger plans into tables of the world that a plan reads."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from libs.domain.world import Vocabulary
from libs.interchange.files.tables import Content
from libs.interchange.planning_inputs.formats import parquet_of, stored_rows
from libs.interchange.planning_inputs.rows import Row
from libs.interchange.planning_inputs.tables import INPUT_TABLES
from libs.store.ledger.planned_changes import PlannedDelta, PlannedShift

_EVENT = "event"
"""The kind of rows that come from events."""
_SHIFTS = pa.schema(
    [
        ("step", pa.float64()),
        ("product", pa.string()),
        ("from_region", pa.string()),
        ("to_region", pa.string()),
        ("share", pa.float64()),
    ]
)


def step_numbers(contents: Mapping[str, bytes]) -> list[int]:
    """Return the numbers of the steps of the planning input `supply`, ascending."""
    return sorted({int(row["step"]) for row in stored_rows(contents["supply"])})


def ledger_files(
    contents: Mapping[str, bytes],
    words: Vocabulary,
    steps: Sequence[int],
    deltas: Sequence[PlannedDelta],
    shifts: Sequence[PlannedShift],
) -> tuple[dict[str, Content], int]:
    """Return the tables `ledger` (with the rows that people put) and `ledger_shifts`, and how many changes name
    something that this world does not have. These are left out.
    """
    table = INPUT_TABLES["ledger"]
    pairs = zip(words.services[words.placement_service], words.hardware_types[words.placement_type], strict=True)
    placements, regions, products = set(pairs), set(words.regions), set(words.products)
    known = [d for d in deltas if (d.service, d.hardware_type) in placements and d.region in regions]
    moved = [s for s in shifts if s.product in products and {s.from_region, s.to_region} <= regions]
    rows: list[Row] = stored_rows(contents[table.name]) if table.name in contents else []
    rows += [
        {
            "step": steps[one.step],
            "kind": _EVENT,
            "service": one.service,
            "region": one.region,
            "hardware_type": one.hardware_type,
            "delta": one.delta,
        }
        for one in known
    ]
    files: dict[str, Content] = {}
    if rows:
        files[f"{table.name}.parquet"] = parquet_of(table, rows)
    if moved:
        of_shifts = [
            {
                "step": float(steps[one.step]),
                "product": one.product,
                "from_region": one.from_region,
                "to_region": one.to_region,
                "share": one.share,
            }
            for one in moved
        ]
        stream = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(of_shifts, _SHIFTS), stream)
        files["ledger_shifts.parquet"] = stream.getvalue()
    return files, len(deltas) - len(known) + len(shifts) - len(moved)
