"""The loans that the plan in force expects. The mover bounds its loans by them. See docs/designs/0038."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from libs.domain.waves import ForetoldLoan
from libs.store.platform.bulk import copy_in
from libs.store.platform.database import Transaction
from libs.store.tables import foretold_loans


def settle_foretold_loans(tx: Transaction, region_id: int, loans: Sequence[ForetoldLoan]) -> None:
    """Store the loans that a committed plan expects, in place of those of the plan before. The caller has locked the
    lineage of plans.
    """
    tx.execute(sa.delete(foretold_loans).where(foretold_loans.c.region_id == region_id))
    if loans:
        names = ("reservation_id", "servers", "seconds")
        columns = {name: [getattr(loan, name) for loan in loans] for name in names}
        copy_in(tx, foretold_loans, {"region_id": [region_id] * len(loans), **columns})


def load_foretold_s(tx: Transaction, region_id: int) -> dict[int, float]:
    """Return reservation -> seconds that the plan expects the servers lent to it to stay."""
    rows = tx.execute(sa.select(foretold_loans).where(foretold_loans.c.region_id == region_id))
    return {row.reservation_id: row.seconds for row in rows}
