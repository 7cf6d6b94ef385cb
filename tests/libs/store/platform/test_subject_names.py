"""Subjects of the audit trail have the names that people know."""

import sqlalchemy as sa

from libs.domain.principal import Role
from libs.domain.simulation import Demand, WhatIf
from libs.simulator.fleet import made_up_fleet
from libs.store.fleet.regions import load_region
from libs.store.plans.simulations import create_simulation
from libs.store.plans.solve_runs import start_solve_run
from libs.store.platform.database import Database
from libs.store.platform.sessions import start_login_session, start_session
from libs.store.platform.subject_names import _NAMES, load_subject_names
from libs.store.platform.tokens import create_token
from libs.store.regions.region_import import import_region
from libs.store.regions.rollout_stages import create_rollout
from libs.store.tables import capacity_events, hardware_types, regions, servers, unavailability_events
from tests.builders.stored import NOW


def test_rows_of_each_kind_have_their_names(database: Database) -> None:
    with database.write() as tx:
        import_region(tx, made_up_fleet("west", servers=12, msbs=5), actor="olga", now=NOW)
        token = create_token(tx, name="ci", role=Role.VIEWER, secret_sha256=b"s", now=NOW)
        assert token is not None
        region = tx.execute(sa.select(regions.c.region_id)).scalar_one()
        named = {
            (kind, row[0]): row[1]
            for kind, table in (("server", servers), ("hardware_type", hardware_types))
            for row in tx.execute(sa.select(table.c[f"{kind}_id"], table.c.name))
        }
        event = {"region_id": region, "kind": "unplanned", "reason": "disk", "starts_at": NOW}
        server = next(subject_id for kind, subject_id in named if kind == "server")
        statement = unavailability_events.insert().values(scope="server", server_id=server, **event)
        event_id = tx.execute(statement.returning(unavailability_events.c.unavailability_event_id)).scalar_one()
        ledger = {"kind": "capacity", "service": "shop", "region": "west", "hardware_type": "hw-a", "amount": 4.0}
        ledger |= {"writer": "person", "author": "olga", "reason": "a sale", "starts_at": NOW, "lead_time_h": 0.0}
        ledger |= {"proposed_at": NOW, "status": "proposed", "achieved": 0.0, "changed_at": NOW}
        statement = capacity_events.insert().values(**ledger).returning(capacity_events.c.capacity_event_id)
        named["capacity_event", tx.execute(statement).scalar_one()] = "shop in west"
        run = start_solve_run(tx, region, trigger="request", seed=1, parent_plan_id=None, now=NOW)
        what_if = WhatIf(policy={}, demand=(Demand(scale=2.0),))
        asked = create_simulation(tx, region, what_if, requested_by="olga", now=NOW)
        found = load_region(tx, "west")
        rollout = create_rollout(tx, found, {"buffer_cost": 8.0}, actor="olga", reason="test", now=NOW)
        login = start_login_session(
            tx, "corp|rita", sealed_bearer="sealed", bearer_ends_at=NOW, secret_sha256=b"y" * 32
        )
        named |= {
            ("solve_run", run): "west, 2026-11-01 12:00 UTC",
            ("simulation", asked): "west, 2026-11-01 12:00 UTC",
            ("session", start_session(tx, token.token_id, token_sha256=b"s", secret_sha256=b"x" * 32)): "ci",
            ("session", login): "corp|rita",
            ("policy_rollout", rollout.policy_rollout_id): "west",
            ("region", region): "west",
            ("token", token.token_id): "ci",
            ("unavailability_event", event_id): named["server", server],
        }
        assert load_subject_names(tx, named) == named
        nameless = [*((kind, 10**9) for kind in _NAMES), ("of a later version", 1)]
        assert load_subject_names(tx, [*nameless, ("region", region)]) == {("region", region): "west"}
        assert load_subject_names(tx, []) == {}
