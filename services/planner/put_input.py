"""Check a planning input alone, then together with all others. The code that reads inputs for plans does the checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from libs.domain.planning_input import InputVersion
from libs.interchange.files.errors import InterchangeError, Problem
from libs.interchange.planning_inputs.diff import counts_of, diff_rows
from libs.interchange.planning_inputs.formats import parquet_of, stored_rows
from libs.interchange.planning_inputs.rows import Row, checked_rows, in_order
from libs.interchange.planning_inputs.sets import problems_of
from libs.interchange.planning_inputs.tables import InputTable
from libs.store.planner.plan_overrides import load_overrides_in_force
from libs.store.planner.planning_inputs import load_all_current
from libs.store.platform.database import Transaction
from services.planner.override_rows import override_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A table that may be put.

    before    the latest version; None if there is none
    counts    rows added, removed and changed against that version
    warnings  errors that the table causes in other inputs; a plan would refuse them
    """

    content: bytes
    rows: int
    before: InputVersion | None
    counts: dict[str, int]
    warnings: list[Problem]


def propose(
    tx: Transaction, table: InputTable, given: Sequence[Row], *, minute_zero: datetime | None, now: datetime
) -> Proposal:
    """Check the rows, and return the effect of putting them. Raises InterchangeError with the errors in the rows."""
    rows = checked_rows(table, given, minute_zero=minute_zero)
    current = load_all_current(tx)
    contents = {name: content for name, (_, content) in current.items()}
    # In the client's order, so that an error names the client's own row.
    found = problems_of(
        {**contents, table.name: parquet_of(table, rows)}, override_rows(load_overrides_in_force(tx, now))
    )
    ours = [problem for problem in found if problem.file == table.name]
    if ours:
        raise InterchangeError(ours)
    ordered = in_order(table, rows)
    before = current.get(table.name)
    old = [] if before is None else stored_rows(before[1])
    return Proposal(
        content=parquet_of(table, ordered),
        rows=len(ordered),
        before=None if before is None else before[0],
        counts=counts_of(diff_rows(table, old, ordered)),
        warnings=found,
    )
