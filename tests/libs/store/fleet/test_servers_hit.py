"""The work of the database to find the servers of events, in rows and not in seconds."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import sqlalchemy as sa

from libs.domain.unavailability import Unavailability
from libs.store.fleet.servers_hit import down_since, servers_hit
from libs.store.fleet.unavailability_events import open_event
from libs.store.platform.database import Database, Transaction
from tests.builders.region import region_image
from tests.builders.stored import NOW, stored

SERVERS, BLOCKS = 6000, 60
OPEN = """
    open AS (
        SELECT server_id, rack_id, msb_id, datacenter_id, domain_id, starts_at FROM unavailability_events
        WHERE ended_at IS NULL
    )"""
FILL = (
    """INSERT INTO servers (region_id, name, rack_id, hardware_type_id)
       SELECT servers.region_id, 'more-' || n, rack_id, hardware_type_id
       FROM generate_series(1, :servers) AS n JOIN servers ON servers.name = 'server-0' || n % 8""",
    """INSERT INTO domains (region_id, kind, name)
       SELECT region_id, 'block', 'more-' || n FROM regions, generate_series(0, :blocks - 1) AS n""",
    """INSERT INTO server_domains (region_id, server_id, kind, domain_id)
       SELECT servers.region_id, server_id, 'block', domain_id FROM servers
       JOIN domains ON domains.name = 'more-' || server_id % :blocks WHERE servers.name LIKE 'more-%'""",
    "ANALYZE servers",
    "ANALYZE server_domains",
)


@pytest.fixture
def tx(database: Database) -> Iterator[Transaction]:
    """A region of two MSBs and 6,000 servers in sixty blocks. The statistics know of no server that is down."""
    stored(database, region_image(domains={"block": {"server-00": "block-0"}}))
    with database.write() as tx:
        for statement in FILL:
            tx.execute(sa.text(statement), {"servers": SERVERS, "blocks": BLOCKS} if ":" in statement else {})
        yield tx
        tx.rollback()


def fail(tx: Transaction, scope: str, name: str) -> None:
    when = {"starts_at": NOW, "ends_at": None, "now": NOW}
    kind = Unavailability.UNPLANNED
    open_event(tx, "west", scope=scope, scope_name=name, kind=kind, reason="test", actor="dog", **when)


def rows_of(tx: Transaction, query: str) -> int:
    """Return how many rows the parts of a query read, passed on or threw away."""
    plan = tx.execute(sa.text(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {query}")).scalar_one()
    found = plan if isinstance(plan, list) else json.loads(plan)

    def count(node: Mapping[str, Any]) -> float:
        each = node["Actual Rows"] + node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Join Filter", 0)
        return float(each * node["Actual Loops"] + sum(count(one) for one in node.get("Plans", ())))

    return int(count(found[0]["Plan"]))


@pytest.mark.parametrize("scope", ["msb", "datacenter", "block"])
def test_the_servers_that_just_went_down_are_found_one_by_one(tx: Transaction, scope: str) -> None:
    """The planner expects none that is down, and may take a nested loop as in larger regions. A loop over all that are
    down and all that were hit would be of millions of rows.
    """
    fail(tx, scope, {"msb": "msb-00", "datacenter": "dc-00", "block": "more-7"}[scope])
    down = tx.execute(sa.text("SELECT count(*) FROM servers WHERE unavailability = 'unplanned'")).scalar_one()
    assert down == {"msb": SERVERS / 2 + 4, "datacenter": SERVERS + 8, "block": SERVERS / BLOCKS}[scope]
    query = f"WITH {OPEN}, {down_since('open')} SELECT * FROM down"
    assert len(tx.execute(sa.text(query)).all()) == down
    for way in ("hashjoin", "mergejoin"):
        tx.execute(sa.text(f"SET LOCAL enable_{way} = off"))
    assert rows_of(tx, query) < 20 * SERVERS


def test_the_servers_of_one_domain_are_found_by_an_index(tx: Transaction) -> None:
    fail(tx, "block", "more-7")
    query = f"EXPLAIN WITH {OPEN}, {servers_hit('open')} SELECT server_id FROM hit"
    plan = "\n".join(tx.execute(sa.text(query)).scalars())
    assert "ix_server_domains_domain_id" in plan, plan
    assert "Seq Scan on server_domains" not in plan, plan
