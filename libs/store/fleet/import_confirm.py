"""Confirm an import: apply all of its items in one transaction. An item is the change to one server that the import
proposed.
"""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from libs.domain.domain_kind import DOMAINS_MAX, KINDS_MAX
from libs.domain.region_import import Import, ImportStatus
from libs.store.fleet.hardware_types import ensure_hardware_types, fill_attributes
from libs.store.fleet.imports import StaleImport, decide_import, load_import, lock_import
from libs.store.fleet.inventory_snapshot import IMPORTED
from libs.store.fleet.regions import load_region
from libs.store.fleet.retirements import finish_retirements
from libs.store.fleet.servers_hit import NEXT_REVISION
from libs.store.fleet.unavailability_events import lock_events, refresh_unavailability
from libs.store.platform.database import Transaction

_ITEMS = "FROM import_items WHERE import_id = :import_id AND action IN ('add', 'change')"
_LOCK = """
    SELECT count(*) FROM (
        SELECT FROM servers JOIN import_items USING (server_id)
        WHERE import_id = :import_id AND action IN ('change', 'retire') ORDER BY server_id
        FOR NO KEY UPDATE OF servers) AS locked"""
_CHANGED = """
    SELECT server, server_generation, generation FROM import_items JOIN servers USING (server_id)
    WHERE import_id = :import_id AND action IN ('change', 'retire')
      AND (generation <> server_generation OR decommissioned_at IS NOT NULL) ORDER BY item_index LIMIT 1"""
_TAKEN = """
    SELECT server FROM import_items JOIN servers ON servers.name = server AND servers.region_id = :region_id
    WHERE import_id = :import_id AND action = 'add' AND decommissioned_at IS NULL ORDER BY item_index LIMIT 1"""
_PLACES = (
    f"""INSERT INTO datacenters (region_id, name) SELECT DISTINCT :region_id, datacenter {_ITEMS} ORDER BY datacenter
        ON CONFLICT DO NOTHING""",
    f"""INSERT INTO msbs (region_id, datacenter_id, name)
        SELECT DISTINCT :region_id, datacenter_id, msb
        FROM (SELECT datacenter, msb {_ITEMS}) AS items
        JOIN datacenters ON datacenters.region_id = :region_id AND datacenters.name = datacenter
        ORDER BY msb ON CONFLICT DO NOTHING""",
    f"""INSERT INTO racks (region_id, msb_id, name)
        SELECT DISTINCT :region_id, msb_id, rack FROM (SELECT msb, rack {_ITEMS}) AS items
        JOIN msbs ON msbs.region_id = :region_id AND msbs.name = msb ORDER BY rack ON CONFLICT DO NOTHING""",
)
# The items with the ids of their places. An item is absent if its rack or MSB has another parent by now.
_PLACED = f"""
    placed AS (
        SELECT items.*, rack_id, msbs.msb_id, msbs.datacenter_id, hardware_type_id FROM (SELECT * {_ITEMS}) AS items
        JOIN racks ON racks.region_id = :region_id AND racks.name = rack
        JOIN msbs ON msbs.msb_id = racks.msb_id AND msbs.name = msb
        JOIN datacenters ON datacenters.datacenter_id = msbs.datacenter_id AND datacenters.name = datacenter
        JOIN hardware_types ON hardware_types.name = hardware_type
    )"""
_ADD = f"""
    WITH {_PLACED}
    INSERT INTO servers (region_id, name, rack_id, hardware_type_id, rack_revision, msb_revision, datacenter_revision)
    SELECT :region_id, server, rack_id, hardware_type_id, :revision, :revision, :revision FROM placed
    WHERE action = 'add' ORDER BY item_index"""
_CHANGE = f"""
    WITH {_PLACED}
    UPDATE servers SET rack_id = placed.rack_id, hardware_type_id = placed.hardware_type_id,
        rack_revision = CASE WHEN servers.rack_id = placed.rack_id THEN rack_revision ELSE :revision END,
        msb_revision = CASE WHEN msbs.msb_id = placed.msb_id THEN msb_revision ELSE :revision END,
        datacenter_revision = CASE WHEN msbs.datacenter_id = placed.datacenter_id THEN datacenter_revision
                                   ELSE :revision END
    FROM placed, racks JOIN msbs USING (msb_id)
    WHERE placed.action = 'change' AND servers.server_id = placed.server_id AND racks.rack_id = servers.rack_id"""
# Only the kinds in which the list and the region differ.
_SAID = """
    SELECT action, server, server_id, said.key AS kind, said.value AS name
    FROM import_items, jsonb_each_text(domains) AS said
    WHERE import_id = :import_id AND action IN ('add', 'change')
      AND said.value IS DISTINCT FROM was_domains ->> said.key"""
_DOMAINS = f"""
    INSERT INTO domains (region_id, kind, name)
    SELECT DISTINCT :region_id, kind, name FROM ({_SAID}) AS said WHERE name IS NOT NULL ORDER BY kind, name
    ON CONFLICT DO NOTHING"""
_LEAVE_DOMAINS = f"""
    DELETE FROM server_domains USING ({_SAID}) AS said
    WHERE server_domains.server_id = said.server_id AND server_domains.kind = said.kind"""
_ENTER_DOMAINS = f"""
    INSERT INTO server_domains (region_id, server_id, kind, domain_id, domain_revision)
    SELECT :region_id, servers.server_id, domains.kind, domain_id, :revision FROM ({_SAID}) AS said
    JOIN servers ON servers.region_id = :region_id AND servers.name = said.server AND decommissioned_at IS NULL
    JOIN domains ON domains.region_id = :region_id AND domains.kind = said.kind AND domains.name = said.name"""
# Domains stand in a table of their own, and a plan that knows other ones must not bind the server.
_RAISE = f"""
    UPDATE servers SET generation = generation + 1 FROM ({_SAID}) AS said WHERE servers.server_id = said.server_id"""
_KINDS = """
    SELECT count(*) AS kinds, coalesce(max(domains), 0) AS domains FROM (
        SELECT count(*) AS domains FROM domains WHERE region_id = :region_id GROUP BY kind) AS found"""
_TYPES = f"SELECT DISTINCT hardware_type {_ITEMS} ORDER BY 1"
_ATTRIBUTES = "SELECT attributes FROM imports WHERE import_id = :import_id"
_END_EVENTS = """
    UPDATE unavailability_events SET ended_at = greatest(:now, starts_at) FROM import_items
    WHERE import_id = :import_id AND action = 'change' AND unavailability <> was_unavailability
      AND unavailability_events.server_id = import_items.server_id AND ended_at IS NULL
      AND unavailability_events.scope = 'server' AND unavailability_events.reason = :reason"""
_OPEN_EVENTS = """
    INSERT INTO unavailability_events (region_id, scope, server_id, kind, reason, starts_at)
    SELECT :region_id, 'server', servers.server_id, import_items.unavailability, :reason, :now
    FROM import_items JOIN servers ON servers.region_id = :region_id AND servers.name = server
                                  AND decommissioned_at IS NULL
    WHERE import_id = :import_id AND import_items.unavailability <> 'none'
      AND (action = 'add' OR action = 'change' AND import_items.unavailability <> was_unavailability)
    ORDER BY servers.server_id"""
_RETIRE = """
    INSERT INTO retirements (region_id, scope, server_id, kind, reason, due_at, created_at)
    SELECT :region_id, 'server', server_id, 'decommission', 'not in import ' || import_id, :now, :now
    FROM import_items WHERE import_id = :import_id AND action = 'retire' ORDER BY server_id
    ON CONFLICT DO NOTHING"""


def confirm_import(tx: Transaction, region_name: str, import_id: int, *, actor: str, now: datetime) -> Import:
    """Apply the items of an import. A confirmed import stays as it is.

    New servers are free. Maintenance under way does not take the servers that enter its scope: it must ask for them
    first. A server that retires leaves at once if it is empty. Otherwise it leaves once other servers
    cover its reservation.

    Raises NotFound. Raises StaleImport in these cases: the import was discarded; a server changed since; the name of a
    new server is taken; a rack or MSB has another parent by now; the region would have too many kinds of domain.
    """
    found = lock_import(tx, region_name, import_id)
    if found.status is ImportStatus.CONFIRMED:
        return found
    if found.status is ImportStatus.DISCARDED:
        raise StaleImport(import_id, "it was discarded")
    region_id = load_region(tx, region_name).region_id
    values = {"import_id": import_id, "region_id": region_id, "reason": IMPORTED, "now": now}

    def run(statement: str) -> int:
        return tx.execute(sa.text(statement), values).rowcount

    lock_events(tx, region_id)  # one import at a time; and events before servers, as in every change of unavailability
    values["revision"] = tx.execute(sa.text(f"SELECT {NEXT_REVISION}")).scalar_one()
    run(_LOCK)
    _require_unchanged(tx, import_id, values)
    types = list(tx.execute(sa.text(_TYPES), values).scalars())
    ensure_hardware_types(tx, types, now=now)
    said = tx.execute(sa.text(_ATTRIBUTES), values).scalar_one()
    fill_attributes(tx, {name: said[name] for name in types if name in said})
    for statement in _PLACES:
        run(statement)
    if run(_ADD) != found.counts["add"] or run(_CHANGE) != found.counts["change"]:
        raise StaleImport(import_id, "a rack or an MSB in it has another parent by now")
    run(_DOMAINS)
    _require_few_domains(tx, import_id, values)
    run(_LEAVE_DOMAINS)
    run(_ENTER_DOMAINS)
    run(_RAISE)
    run(_END_EVENTS)
    run(_OPEN_EVENTS)
    refresh_unavailability(tx, region_id, now=now)
    if run(_RETIRE):
        finish_retirements(tx, region_id, actor=actor, now=now)
    decide_import(tx, import_id, ImportStatus.CONFIRMED, actor=actor, now=now)
    if found.counts["add"]:
        run("ANALYZE servers, racks")  # or the planner would use outdated statistics
    return load_import(tx, region_name, import_id)


def _require_few_domains(tx: Transaction, import_id: int, values: dict[str, object]) -> None:
    kinds, most = tx.execute(sa.text(_KINDS), values).one()
    if kinds > KINDS_MAX or most > DOMAINS_MAX:
        raise StaleImport(import_id, "with another import, the region has too many kinds of domain, or domains of one")


def _require_unchanged(tx: Transaction, import_id: int, values: dict[str, object]) -> None:
    changed = tx.execute(sa.text(_CHANGED), values).one_or_none()
    if changed is not None:
        raise StaleImport(import_id, f"server {changed.server} has changed since")
    taken = tx.execute(sa.text(_TAKEN), values).scalar_one_or_none()
    if taken is not None:
        raise StaleImport(import_id, f"there is a server {taken} by now")
