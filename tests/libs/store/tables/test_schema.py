"""The schema refuses impossible states, and the tables in Python match the migrations."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from libs.domain.reservation import ReservationSpec
from libs.store.platform.database import Database, Transaction
from libs.store.regions.region_import import import_region
from libs.store.tables import metadata
from tests.builders.region import region_image
from tests.libs.store.conftest import NOW

WEB = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0})


@pytest.fixture
def tx(database: Database) -> Iterator[Transaction]:
    """Two regions, `west` with everything and `east` likewise; nothing is committed."""
    with database.write() as tx:
        for region in ("west", "east"):
            import_region(
                tx,
                region_image(region, reservations={"web": WEB}, current={"server-00": "web"}),
                actor="olga",
                now=NOW,
            )
        yield tx
        tx.rollback()


def ids(tx: Transaction, region: str) -> dict[str, int]:
    """Return one id of each noun of a region, and that of its last server, which is free."""
    nouns = ("datacenter", "msb", "rack", "server", "reservation", "plan")
    columns = ", ".join(
        f"(SELECT min({n}_id) FROM {n}s WHERE {n}s.region_id = regions.region_id) AS {n}" for n in nouns
    )
    free = "(SELECT max(server_id) FROM servers WHERE servers.region_id = regions.region_id) AS free"
    query = f"SELECT region_id AS region, {columns}, {free} FROM regions WHERE name = :region"
    return dict(tx.execute(sa.text(query), {"region": region}).mappings().one())


def forbids(tx: Transaction, statement: str, match: str, **values: object) -> None:
    with pytest.raises(sa.exc.IntegrityError, match=match), tx.begin_nested():
        tx.execute(sa.text(statement), values)


def test_the_tables_in_python_are_those_of_the_migrations(database: Database) -> None:
    with database.write() as tx:
        context = MigrationContext.configure(tx, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []


def test_constraints_and_generations_are_in_both(database: Database) -> None:
    """Alembic compares neither checks nor the conditions of indexes."""
    with database.write() as tx:
        found = sa.inspect(tx)
        for table in metadata.sorted_tables:
            checks = {c.name for c in table.constraints if isinstance(c, sa.CheckConstraint)}
            assert {c["name"] for c in found.get_check_constraints(table.name)} == checks
            partial = {i.name for i in table.indexes if i.dialect_options["postgresql"]["where"] is not None}
            indexes = found.get_indexes(table.name)
            assert {i["name"] for i in indexes if "postgresql_where" in i.get("dialect_options", {})} == partial
        query = "SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname = 'raise_generation'"
        raised = set(tx.execute(sa.text(query)).scalars())
        # In the key of a history, a generation never changes.
        current = [t for t in metadata.sorted_tables if "generation" in t.c and not t.c.generation.primary_key]
        assert raised == {table.name for table in current}


@pytest.mark.parametrize("binding", ["current_reservation_id", "target_reservation_id"])
def test_a_server_is_bound_within_its_region(tx: Transaction, binding: str) -> None:
    west, east = ids(tx, "west"), ids(tx, "east")
    statement = f"UPDATE servers SET {binding} = :reservation WHERE server_id = :server"
    forbids(tx, statement, binding, reservation=east["reservation"], server=west["server"])
    forbids(tx, statement, binding, reservation=10**9, server=west["server"])


def test_places_are_in_one_region_each(tx: Transaction) -> None:
    west, east = ids(tx, "west"), ids(tx, "east")
    forbids(
        tx, "UPDATE servers SET rack_id = :rack WHERE server_id = :server", "rack_id", **west | {"rack": east["rack"]}
    )
    forbids(tx, "UPDATE racks SET msb_id = :msb WHERE rack_id = :rack", "msb_id", **west | {"msb": east["msb"]})
    statement = "UPDATE msbs SET datacenter_id = :datacenter WHERE msb_id = :msb"
    forbids(tx, statement, "datacenter_id", **west | {"datacenter": east["datacenter"]})


def test_a_rack_is_in_one_msb(tx: Transaction) -> None:
    statement = "INSERT INTO racks (region_id, msb_id, name) VALUES (:region, :msb, 'rack-00')"
    forbids(tx, statement, "uq_racks_region_id_name", **ids(tx, "west"))


def test_a_free_server_is_not_in_use(tx: Transaction) -> None:
    forbids(tx, "UPDATE servers SET in_use = true WHERE server_id = :free", "ck_servers_in_use", **ids(tx, "west"))


def test_an_affinity_is_to_a_datacenter_of_the_region(tx: Transaction) -> None:
    west, east = ids(tx, "west"), ids(tx, "east")
    statement = "INSERT INTO reservation_affinity VALUES (:region, :reservation, :datacenter, 0.5)"
    forbids(tx, statement, "datacenter_id", **west | {"datacenter": east["datacenter"]})
    forbids(tx, statement, "reservation_id", **west | {"reservation": east["reservation"]})


def test_an_event_concerns_one_thing_of_its_region(tx: Transaction) -> None:
    west, east = ids(tx, "west"), ids(tx, "east")
    columns = "(region_id, scope, rack_id, server_id, kind, reason, starts_at)"
    statement = (
        f"INSERT INTO unavailability_events {columns} VALUES (:region, 'rack', :r, :s, 'planned', 'test', now())"
    )
    forbids(tx, statement, "rack_id", **west, r=east["rack"], s=None)
    forbids(tx, statement, "ck_unavailability_events_scope_id", **west, r=west["rack"], s=west["server"])
    forbids(tx, statement, "ck_unavailability_events_scope_id", **west, r=None, s=west["server"])
    forbids(tx, statement, "ck_unavailability_events_scope_id", **west, r=None, s=None)


def test_one_move_of_a_server_at_a_time(tx: Transaction) -> None:
    columns = "(region_id, server_id, steps, status, step_started_at, created_at)"
    statement = f"INSERT INTO moves {columns} VALUES (:region, :server, '{{join}}', 'running', now(), now())"
    west, east = ids(tx, "west"), ids(tx, "east")
    tx.execute(sa.text(statement), west)
    forbids(tx, statement, "uq_moves_running", **west)
    forbids(tx, statement, "server_id", **west | {"server": east["server"]})


def test_a_region_follows_its_own_plans(tx: Transaction) -> None:
    west, east = ids(tx, "west"), ids(tx, "east")
    statement = "UPDATE regions SET target_plan_id = :plan WHERE region_id = :region"
    forbids(tx, statement, "target_plan_id", **west | {"plan": east["plan"]})


def test_one_live_reservation_of_a_name(tx: Transaction) -> None:
    statement = """INSERT INTO reservations (region_id, name, kind, owner, host_profile, unit, capacity_rru,
                                             survives_msb_loss, created_at, deleted_at)
                   VALUES (:region, 'web', 'guaranteed', 'team', 'default', 'rru', 1, true, now(), :deleted_at)"""
    west = ids(tx, "west")
    forbids(tx, statement, "uq_reservations_live_name", **west, deleted_at=None)
    tx.execute(sa.text(statement), west | {"deleted_at": NOW})


@pytest.mark.parametrize("table", ["plans", "plan_changes", "move_steps", "audit_entries"])
@pytest.mark.parametrize("statement", ["UPDATE {} SET {} = {}", "DELETE FROM {}", "TRUNCATE {} CASCADE"])
def test_history_is_not_rewritten(tx: Transaction, table: str, statement: str) -> None:
    column = list(metadata.tables[table].c)[-1].name
    forbids(tx, statement.format(table, column, column), "append-only")


def test_generations_rise_with_every_change_and_only_then(tx: Transaction) -> None:
    west = ids(tx, "west")
    read = sa.text("SELECT generation FROM servers WHERE server_id = :server")
    for statement, generation in (
        ("UPDATE servers SET in_use = true WHERE server_id = :server", 2),
        ("UPDATE servers SET in_use = true WHERE server_id = :server", 2),
        ("UPDATE servers SET generation = 1 WHERE server_id = :server", 3),
    ):
        tx.execute(sa.text(statement), west)
        assert tx.execute(read, west).scalar_one() == generation


def test_a_solve_does_not_raise_the_generation_that_operators_edit_by(tx: Transaction) -> None:
    west = ids(tx, "west")
    read = sa.text("SELECT generation FROM regions WHERE region_id = :region")
    tx.execute(sa.text("UPDATE regions SET target_plan_id = NULL WHERE region_id = :region"), west)
    assert tx.execute(read, west).scalar_one() == 1
    priced = sa.text("""UPDATE regions SET policy = '{"buffer_cost"\\:9.0}' WHERE region_id = :region""")
    tx.execute(priced, west)
    assert tx.execute(read, west).scalar_one() == 2
