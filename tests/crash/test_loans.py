"""Kill the mover before and after it lends servers, and check that the exchange ends and the servers go home."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from libs.domain.reservation import ReservationSpec
from libs.store.platform.database import Database
from libs.store.platform.schedules import ensure_schedules
from libs.store.regions.region_import import import_region
from tests.builders.region import region_image
from tests.crash.harness import JobProcesses, wait_until

ENV = {
    "PLIMSOLL_MOVER_ACTUATOR": "simulated",
    "PLIMSOLL_SIMULATED_DELAY": "0.001",
    "PLIMSOLL_MOVES_MSB_SHARE_MAX": "1",
}
ONE = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0})
CURRENT = {"server-00": "web", "server-04": "web", "server-05": "db", "server-08": "db"}
SWAP = {"server-00": "db", "server-04": "web", "server-05": "db", "server-08": "web"}
"""Each of web and db survives the loss of an MSB with just what it has, so neither can give a server first."""


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, pool_size=2)
    yield database
    database.close()


def bound(database: Database) -> dict[str, str]:
    with database.snapshot() as tx:
        rows = tx.execute(
            sa.text("""SELECT servers.name AS server, reservations.name AS reservation FROM servers
                       JOIN reservations ON reservation_id = current_reservation_id""")
        )
        return {row.server: row.reservation for row in rows}


def count(database: Database, what: str) -> int:
    with database.snapshot() as tx:
        return int(tx.execute(sa.text(f"SELECT count(*) FROM {what}")).scalar_one())


def test_killed_before_and_after_a_loan_the_exchange_ends(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    now = datetime.now(UTC)
    image = region_image(msbs=3, reservations={"web": ONE, "db": ONE}, current=CURRENT, target=SWAP)
    with database.write() as tx:
        import_region(tx, image, actor="test", now=now)
        ensure_schedules(tx, {"move": 0.05}, now=now)
    env = ENV | {"PLIMSOLL_BUNDLE_DIR": str(tmp_path / "bundles")}
    with JobProcesses(tmp_path, database_url, **env) as processes:
        processes.crash_at_each(["mover.lend.before", "mover.lend.after"])
        lent = "servers WHERE spare_for_reservation_id IS NOT NULL OR current_reservation_id IS NOT NULL"
        assert count(database, lent) > len(CURRENT), "the mover was killed before it lent anything"
        processes.start()
        wait_until(lambda: bound(database) == SWAP, "the exchange has ended, and no spare is left behind")
        wait_until(
            lambda: count(database, "servers WHERE spare_for_reservation_id IS NOT NULL") == 0, "every loan is over"
        )
        wait_until(lambda: count(database, "moves WHERE status = 'running'") == 0, "no move runs")
    assert bound(database) == SWAP
    assert count(database, "moves WHERE is_spare AND status = 'done'") >= 2
    assert count(database, "servers WHERE current_reservation_id IS NULL AND unclean") == 0
