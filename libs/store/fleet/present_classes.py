"""The present RRU catalogue of a region, and the cost units that follow from it."""

from __future__ import annotations

import sqlalchemy as sa

from libs.domain.rru_catalogue import RruCatalogue
from libs.store.platform.database import Transaction

CURRENT = """
    SELECT * FROM (SELECT DISTINCT ON (workload_class) workload_class, reference, rru FROM rru_versions
                   WHERE region_id = :region_id ORDER BY workload_class, version DESC) AS latest
    WHERE rru <> '{}'"""
"""SQL of the present version of each class of a region. The last version of a retired class has no RRU."""
_SET = "SELECT name, cost_units FROM hardware_types WHERE cost_units IS NOT NULL"


def load_catalogue(tx: Transaction, region_id: int) -> RruCatalogue:
    """Return the present version of every class of a region."""
    rows = tx.execute(sa.text(CURRENT), {"region_id": region_id}).tuples().all()
    return RruCatalogue(reference=rows[0][1] if rows else None, classes={name: dict(rru) for name, _, rru in rows})


def load_units(tx: Transaction, region_id: int) -> dict[str, float]:
    """Return hardware type -> the cost units of one server in a region. Absent types count the default.

    A type for which no operator set cost units has its reference RRU in the region's catalogue.
    """
    return load_catalogue(tx, region_id).reference_rru() | dict(tx.execute(sa.text(_SET)).tuples().all())
