"""Make what-ifs for tests of simulations, and dump the data that must not change."""

import sqlalchemy as sa

from libs.store.platform.database import Database
from libs.store.tables import metadata

OWN = {"simulations", "simulation_changes", "jobs", "idempotency_keys", "tokens"}
ANY = {"scale": 1.5}
NEW = {"name": "new", "owner": "team", "spec": {"count": 2, "hardware_types": ["hw-a"], "survives_msb_loss": False}}


def dump(database: Database) -> dict[str, list]:
    """Return every row of every table except a simulation's own."""
    with database.snapshot() as tx:
        return {
            table.name: sorted(map(repr, tx.execute(sa.select(table)).all()))
            for table in metadata.sorted_tables
            if table.name not in OWN
        }
