"""Differences between two versions of a planning input, row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from libs.interchange.planning_inputs.rows import Row
from libs.interchange.planning_inputs.tables import InputTable


class RowChange(StrEnum):
    """The kind of a change of a row."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDiff:
    """One changed row. `before` is None for an added row, `after` for a removed one."""

    change: RowChange
    before: Row | None
    after: Row | None


def diff_rows(table: InputTable, before: Sequence[Row], after: Sequence[Row]) -> list[RowDiff]:
    """Return the rows that were removed, added or changed. Rows of a table without a key are never changed."""
    if not table.key and not table.one_row:
        return _bags(before, after)
    old, new = _by_key(table, before), _by_key(table, after)
    found = []
    for key in dict.fromkeys([*old, *new]):
        was, now = old.get(key), new.get(key)
        if was != now:
            change = RowChange.ADDED if was is None else RowChange.REMOVED if now is None else RowChange.CHANGED
            found.append(RowDiff(change=change, before=was, after=now))
    return found


def counts_of(found: Sequence[RowDiff]) -> dict[str, int]:
    """Return the number of rows of each kind of change."""
    counts = Counter(one.change for one in found)
    return {change.value: counts[change] for change in RowChange}


def _by_key(table: InputTable, rows: Sequence[Row]) -> Mapping[tuple[object, ...], Row]:
    return {tuple(row[name] for name in table.key): row for row in rows}


def _bags(before: Sequence[Row], after: Sequence[Row]) -> list[RowDiff]:
    old, new = (Counter(tuple(row.items()) for row in rows) for rows in (before, after))
    removed = [RowDiff(change=RowChange.REMOVED, before=dict(row), after=None) for row in (old - new).elements()]
    return removed + [RowDiff(change=RowChange.ADDED, before=None, after=dict(row)) for row in (new - old).elements()]
