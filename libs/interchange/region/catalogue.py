"""Read and write the RRU catalogue of a region: hardware_types.parquet and rru_classes.parquet, which are optional."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime

import numpy as np
import pyarrow as pa

from libs.domain.arrays import Names
from libs.domain.rru_catalogue import CLASSES_MAX, ClassVersion, RegionCatalogue
from libs.interchange.files.bounds import COLUMNS_MAX, NAME_CHARACTERS_MAX, parse_json
from libs.interchange.files.errors import Problems
from libs.interchange.files.tables import Source, Table, has_file

UNITS, CLASSES = "hardware_types.parquet", "rru_classes.parquet"
FILES = (UNITS, CLASSES)
UNITS_MAX = 1e6
"""Largest number of cost units of a server, and largest RRU of a class."""
_COLUMNS = {
    "workload_class",
    "version",
    "reference",
    "hardware_type",
    "rru",
    "asked_by",
    "approved_by",
    "reason",
    "created_at",
}
VERSIONS_MAX = 1_000_000
"""Largest number of a version."""
_BAD_VERSION = f"is not a whole number of at most {VERSIONS_MAX}"
_RETIRED: list[tuple[str | None, float | None]] = [(None, None)]
_TEXT_CHARACTERS_MAX = 20_000
"""Largest length of a reason, and of a JSON array with the names of the requesters."""


def load_catalogue(source: Source, problems: Problems) -> RegionCatalogue | None:
    """Return the cost units and classes of a region; None if the source has neither file.

    A version with several types has a row for each of them. The version that retires a class has one row, without a
    type and an RRU.
    """
    units, classes = (has_file(source, file) for file in FILES)
    if not units and not classes:
        return None
    return RegionCatalogue(
        cost_units=_units(Table(source, UNITS, problems, fields={"hardware_type", "cost_units"})) if units else {},
        versions=_versions(Table(source, CLASSES, problems, fields=_COLUMNS), problems) if classes else (),
    )


def dump_catalogue(catalogue: RegionCatalogue, types: Names) -> dict[str, dict[str, pa.Array]]:
    """Return the columns of each file. hardware_types.parquet lists the types `types` and those with cost units."""
    listed = sorted({*map(str, types), *catalogue.cost_units})
    files = {
        UNITS: {
            "hardware_type": pa.array(listed, pa.string()),
            "cost_units": pa.array([catalogue.cost_units.get(name) for name in listed], pa.float64()),
        }
    }
    rows = [
        {
            "workload_class": one.workload_class,
            "version": one.version,
            "reference": one.reference,
            "hardware_type": name,
            "rru": rru,
            "asked_by": json.dumps(list(one.asked_by)),
            "approved_by": one.approved_by,
            "reason": one.reason,
            "created_at": one.created_at.isoformat(),
        }
        for one in catalogue.versions
        for name, rru in (sorted(one.rru.items()) or _RETIRED)
    ]
    kinds = {"version": pa.int64(), "rru": pa.float64()}
    if rows:
        files[CLASSES] = {
            field: pa.array([row[field] for row in rows], kinds.get(field, pa.string())) for field in rows[0]
        }
    return files


def _units(table: Table) -> dict[str, float]:
    names = table.strings("hardware_type")
    table.at_most(COLUMNS_MAX, "hardware_type", np.unique(names.codes))
    table.unique("hardware_type", names.codes, "this hardware type")
    given = table.numbers("cost_units", nullable=True)
    table.bad_rows((given <= 0) | (given > UNITS_MAX), "cost_units", f"is not above 0 and at most {UNITS_MAX:g}")
    return {str(name): float(value) for name, value in zip(names.names, given, strict=True) if not np.isnan(value)}


def _versions(table: Table, problems: Problems) -> tuple[ClassVersion, ...]:
    """Return the versions in the order of their first rows. Raises InterchangeError."""
    classes, types = table.strings("workload_class"), table.strings("hardware_type", nullable=True)
    reference, approved_by, created_at = (
        table.strings(field).names for field in ("reference", "approved_by", "created_at")
    )
    asked_by = table.strings("asked_by", longest=_TEXT_CHARACTERS_MAX, is_name=False).names
    reason = table.strings("reason", nullable=True, longest=_TEXT_CHARACTERS_MAX, is_name=False).names
    number, rru = table.numbers("version", least=1), table.numbers("rru", nullable=True)
    typed = types.codes >= 0
    table.bad_rows((number != np.floor(number)) | (number > VERSIONS_MAX), "version", _BAD_VERSION)
    table.bad_rows(typed & ~((rru > 0) & (rru <= UNITS_MAX)), "rru", f"is not above 0 and at most {UNITS_MAX:g}")
    table.bad_rows(~typed & ~np.isnan(rru), "hardware_type", "is null, but the row has an RRU")
    problems.raise_any()
    table.at_most(CLASSES_MAX, "workload_class", np.unique(classes.codes))
    table.at_most(COLUMNS_MAX, "hardware_type", np.unique(types.codes))
    grouped: dict[tuple[str, int], list[int]] = {}
    for row, key in enumerate(zip(classes.names, number.astype(np.int64).tolist(), strict=True)):
        grouped.setdefault(key, []).append(row)
    found = []
    for (name, version), rows in grouped.items():
        first = rows[0]
        found.append(
            ClassVersion(
                workload_class=name,
                version=version,
                reference=reference[first],
                rru={types.names[row]: float(rru[row]) for row in rows if typed[row]},
                asked_by=_names_in(asked_by[first]),
                approved_by=approved_by[first],
                reason=reason[first],
                created_at=_time_in(created_at[first]),
            )
        )
    firsts = [rows[0] for rows in grouped.values()]
    for one, row, rows in zip(found, firsts, grouped.values(), strict=True):
        for field, message in _faults(one, len(rows)):
            problems.add(CLASSES, message, row=row, field=field)
    latest: dict[str, tuple[ClassVersion, int]] = {}
    for one, row in zip(found, firsts, strict=True):
        if one.version != (latest[one.workload_class][0].version if one.workload_class in latest else 0) + 1:
            problems.add(CLASSES, "the versions of a class are 1, 2 and so on, in this order", row=row, field="version")
        latest[one.workload_class] = one, row
    present = [(one, row) for one, row in latest.values() if one.rru]
    for one, row in present:
        if one.reference != present[0][0].reference:
            message = f"is {one.reference}, and {present[0][0].workload_class} has {present[0][0].reference}: "
            problems.add(CLASSES, f"{message}a region has one reference type", row=row, field="reference")
    problems.raise_any()
    return tuple(found)


def _faults(one: ClassVersion, rows: int) -> Iterator[tuple[str, str]]:
    """Yield a field and a message for each fault of one version of a class. `rows` is the number of rows of the
    version.
    """
    if one.rru and one.rru.get(one.reference) != 1.0:
        yield "rru", f"of {one.reference} is not 1, and it is the reference type of {one.workload_class}"
    if rows != max(1, len(one.rru)):
        yield "hardware_type", "appears twice in one version of a class, or is null beside others"
    if not one.asked_by:
        yield "asked_by", "is not a JSON array of names"
    if one.created_at.tzinfo is None:
        yield "created_at", "is not a time with an offset, such as 2026-01-31T12:00:00+00:00"


def _names_in(text: str) -> tuple[str, ...]:
    """Return the names in a JSON array; () for any other text."""
    try:
        found = parse_json(text)
    except ValueError:
        return ()
    fine = isinstance(found, list) and all(
        isinstance(one, str) and 0 < len(one) <= NAME_CHARACTERS_MAX for one in found
    )
    return tuple(found) if fine else ()


def _time_in(text: str) -> datetime:
    """Return the time in a text; a time without an offset for any other text."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return datetime.min
