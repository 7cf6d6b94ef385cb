"""Regions, servers and their places, and the events, retirements and imports that change them."""

from __future__ import annotations

import sqlalchemy as sa

from libs.store.tables.columns import at, generation, json, key, metadata, one_of, ref, revision, text

regions = sa.Table(
    "regions",
    metadata,
    key("region_id"),
    text("name"),
    json("policy"),
    sa.Column("target_plan_id", sa.BigInteger, nullable=True),
    generation(),
    at("created_at"),
    sa.Column("solve_every_s", sa.Double, nullable=True),
    sa.UniqueConstraint("name"),
    sa.CheckConstraint("solve_every_s BETWEEN 60 AND 604800", name="solve_every_s"),
    sa.ForeignKeyConstraint(["target_plan_id", "region_id"], ["plans.plan_id", "plans.region_id"], use_alter=True),
)

datacenters = sa.Table(
    "datacenters",
    metadata,
    key("datacenter_id"),
    ref("regions.region_id"),
    text("name"),
    sa.UniqueConstraint("region_id", "name"),
    sa.UniqueConstraint("region_id", "datacenter_id"),
)

msbs = sa.Table(
    "msbs",
    metadata,
    key("msb_id"),
    ref("regions.region_id"),
    sa.Column("datacenter_id", sa.BigInteger, nullable=False),
    text("name"),
    sa.UniqueConstraint("region_id", "name"),
    sa.UniqueConstraint("region_id", "msb_id"),
    sa.ForeignKeyConstraint(["region_id", "datacenter_id"], ["datacenters.region_id", "datacenters.datacenter_id"]),
)

racks = sa.Table(
    "racks",
    metadata,
    key("rack_id"),
    ref("regions.region_id"),
    sa.Column("msb_id", sa.BigInteger, nullable=False),
    text("name"),
    sa.UniqueConstraint("region_id", "name"),
    sa.UniqueConstraint("region_id", "rack_id"),
    sa.ForeignKeyConstraint(["region_id", "msb_id"], ["msbs.region_id", "msbs.msb_id"]),
)

# Domains of further kinds, such as network blocks: sets of servers that can be lost together.
domains = sa.Table(
    "domains",
    metadata,
    key("domain_id"),
    ref("regions.region_id"),
    text("kind"),
    text("name"),
    sa.UniqueConstraint("region_id", "kind", "name", name="uq_domains_region_id_kind_name"),
    sa.UniqueConstraint("region_id", "kind", "domain_id", name="uq_domains_region_id_kind_domain_id"),
    sa.UniqueConstraint("region_id", "domain_id"),
)

# The domain of each kind that a server has; no row: none of this kind.
server_domains = sa.Table(
    "server_domains",
    metadata,
    sa.Column("region_id", sa.BigInteger, nullable=False),
    sa.Column("server_id", sa.BigInteger, primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("domain_id", sa.BigInteger, nullable=False),
    revision("domain_revision"),
    sa.ForeignKeyConstraint(["region_id", "server_id"], ["servers.region_id", "servers.server_id"]),
    sa.ForeignKeyConstraint(
        ["region_id", "kind", "domain_id"], ["domains.region_id", "domains.kind", "domains.domain_id"]
    ),
    sa.Index("ix_server_domains_region_id", "region_id"),
    sa.Index("ix_server_domains_domain_id", "domain_id"),
)

hardware_types = sa.Table(
    "hardware_types",
    metadata,
    key("hardware_type_id"),
    text("name"),
    json("attributes"),
    generation(),
    at("created_at"),
    sa.Column("cost_units", sa.Double, nullable=True),
    sa.UniqueConstraint("name"),
    sa.CheckConstraint("cost_units > 0 AND cost_units < 'infinity'", name="cost_units"),
)

# All limits on power of a region in one document: commits of plans lock its row, and a change replaces all of it.
power_limits = sa.Table(
    "power_limits",
    metadata,
    sa.Column("region_id", sa.BigInteger, sa.ForeignKey("regions.region_id"), primary_key=True),
    json("limits"),
    generation(),
    sa.CheckConstraint("jsonb_typeof(limits) = 'array'", name="limits"),
)

# The Gbit/s that racks may send, by name: all limits of a region in one document, which a change replaces.
rack_uplinks = sa.Table(
    "rack_uplinks",
    metadata,
    sa.Column("region_id", sa.BigInteger, sa.ForeignKey("regions.region_id"), primary_key=True),
    json("limits"),
    generation(),
    sa.CheckConstraint("jsonb_typeof(limits) = 'object'", name="limits"),
)

servers = sa.Table(
    "servers",
    metadata,
    key("server_id"),
    sa.Column("region_id", sa.BigInteger, nullable=False),  # the foreign key to racks ensures that it exists
    text("name"),
    sa.Column("rack_id", sa.BigInteger, nullable=False),
    ref("hardware_types.hardware_type_id"),
    sa.Column("current_reservation_id", sa.BigInteger, nullable=True),
    sa.Column("target_reservation_id", sa.BigInteger, nullable=True),
    # It may be in this reservation: the last step has no known outcome. It counts for none.
    sa.Column("in_doubt_reservation_id", sa.BigInteger, nullable=True),
    # It is in this reservation, or joins it, for the time of an exchange; its target does not say so.
    sa.Column("spare_for_reservation_id", sa.BigInteger, nullable=True),
    at("spare_since", nullable=True),
    # The loan ends at this time at the latest.
    at("spare_until", nullable=True),
    # The loan is over since this time: the server goes to its target once its reservation can spare it.
    at("spare_recalled_at", nullable=True),
    # It may hold data of its last reservation.
    sa.Column("unclean", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("in_use", sa.Boolean, nullable=False, server_default=sa.false()),
    # Its target takes it from its reservation at the cost of the churn budget.
    sa.Column("churns", sa.Boolean, nullable=False, server_default=sa.false()),
    text("host_profile", default="default"),
    text("unavailability", default="none"),
    generation(),
    at("decommissioned_at", nullable=True),
    # Since which revisions it stands in its rack, its MSB and its datacenter.
    revision("rack_revision"),
    revision("msb_revision"),
    revision("datacenter_revision"),
    sa.UniqueConstraint("region_id", "server_id"),
    sa.ForeignKeyConstraint(["region_id", "rack_id"], ["racks.region_id", "racks.rack_id"]),
    sa.ForeignKeyConstraint(
        ["region_id", "current_reservation_id"], ["reservations.region_id", "reservations.reservation_id"]
    ),
    sa.ForeignKeyConstraint(
        ["region_id", "target_reservation_id"], ["reservations.region_id", "reservations.reservation_id"]
    ),
    sa.ForeignKeyConstraint(
        ["region_id", "in_doubt_reservation_id"],
        ["reservations.region_id", "reservations.reservation_id"],
        name="fk_servers_region_id_reservations_in_doubt",
    ),
    sa.ForeignKeyConstraint(
        ["region_id", "spare_for_reservation_id"],
        ["reservations.region_id", "reservations.reservation_id"],
        name="fk_servers_region_id_reservations_spare_for",
    ),
    sa.CheckConstraint("spare_for_reservation_id IS NULL OR decommissioned_at IS NULL", name="spare_for"),
    sa.CheckConstraint("in_doubt_reservation_id IS NULL OR current_reservation_id IS NULL", name="in_doubt"),
    one_of("unavailability", "none", "planned", "unplanned"),
    sa.CheckConstraint("NOT in_use OR current_reservation_id IS NOT NULL", name="in_use"),
    # A query that forgets to filter decommissioned servers then treats them as down.
    sa.CheckConstraint(
        "decommissioned_at IS NULL OR (current_reservation_id IS NULL AND target_reservation_id IS NULL "
        "AND unavailability = 'unplanned')",
        name="decommissioned",
    ),
    sa.Index(
        "uq_servers_live_name", "region_id", "name", unique=True, postgresql_where=sa.text("decommissioned_at IS NULL")
    ),
    sa.Index("ix_servers_current", "current_reservation_id"),
    sa.Index("ix_servers_target", "target_reservation_id"),
    sa.Index("ix_servers_rack", "rack_id"),
    sa.Index(
        "ix_servers_to_move",
        "region_id",
        postgresql_where=sa.text("current_reservation_id IS DISTINCT FROM target_reservation_id"),
    ),
    sa.Index(
        "ix_servers_unsettled",
        "region_id",
        postgresql_where=sa.text("in_doubt_reservation_id IS NOT NULL OR (unclean AND current_reservation_id IS NULL)"),
    ),
    sa.Index(
        "ix_servers_free",
        "region_id",
        postgresql_where=sa.text("current_reservation_id IS NULL AND target_reservation_id IS NULL"),
    ),
    sa.Index("ix_servers_churns", "region_id", postgresql_where=sa.text("churns")),
    sa.Index("ix_servers_lent", "region_id", postgresql_where=sa.text("spare_for_reservation_id IS NOT NULL")),
    sa.Index("ix_servers_unavailable", "region_id", postgresql_where=sa.text("unavailability <> 'none'")),
)

unavailability_events = sa.Table(
    "unavailability_events",
    metadata,
    key("unavailability_event_id"),
    ref("regions.region_id"),
    text("scope"),
    sa.Column("datacenter_id", sa.BigInteger, nullable=True),
    sa.Column("msb_id", sa.BigInteger, nullable=True),
    sa.Column("rack_id", sa.BigInteger, nullable=True),
    sa.Column("server_id", sa.BigInteger, nullable=True),
    text("kind"),
    text("reason"),
    at("starts_at"),
    at("ends_at", nullable=True),
    at("ended_at", nullable=True),
    generation(),
    text("state", default="allowed"),
    json("answer", nullable=True),
    sa.Column("domain_id", sa.BigInteger, nullable=True),
    # Of a planned event: it takes the servers that have their place since this revision or an earlier one.
    revision("covers_revision"),
    # Of a planned event: how many later servers wait to be taken, and the answer to them.
    json("newcomers", nullable=True),
    one_of("scope", "server", "rack", "msb", "datacenter", "domain"),
    one_of("kind", "planned", "unplanned"),
    one_of("state", "announced", "queued", "awaiting_approval", "allowed", "refused"),
    sa.CheckConstraint("kind = 'planned' OR state = 'allowed'", name="unplanned"),
    sa.CheckConstraint("state <> 'refused' OR ended_at IS NOT NULL", name="refused"),
    sa.CheckConstraint("ends_at > starts_at", name="ends_at"),
    sa.CheckConstraint(
        "num_nonnulls(datacenter_id, msb_id, rack_id, server_id, domain_id) = 1 AND CASE scope "
        "WHEN 'datacenter' THEN datacenter_id WHEN 'msb' THEN msb_id "
        "WHEN 'rack' THEN rack_id WHEN 'domain' THEN domain_id ELSE server_id END IS NOT NULL",
        name="scope_id",
    ),
    sa.ForeignKeyConstraint(["region_id", "datacenter_id"], ["datacenters.region_id", "datacenters.datacenter_id"]),
    sa.ForeignKeyConstraint(["region_id", "msb_id"], ["msbs.region_id", "msbs.msb_id"]),
    sa.ForeignKeyConstraint(["region_id", "rack_id"], ["racks.region_id", "racks.rack_id"]),
    sa.ForeignKeyConstraint(["region_id", "server_id"], ["servers.region_id", "servers.server_id"]),
    sa.ForeignKeyConstraint(["region_id", "domain_id"], ["domains.region_id", "domains.domain_id"]),
    sa.Index("ix_unavailability_events_region_id", "region_id", "unavailability_event_id"),
    sa.Index("ix_unavailability_events_open", "region_id", postgresql_where=sa.text("ended_at IS NULL")),
    sa.Index(
        "ix_unavailability_events_asking",
        "region_id",
        "unavailability_event_id",
        postgresql_where=sa.text("ended_at IS NULL AND state IN ('announced', 'queued')"),
    ),
)

# Places and servers that will leave the fleet or change their type, once they are empty and due.
retirements = sa.Table(
    "retirements",
    metadata,
    key("retirement_id"),
    ref("regions.region_id"),
    text("scope"),
    sa.Column("rack_id", sa.BigInteger, nullable=True),
    sa.Column("server_id", sa.BigInteger, nullable=True),
    text("kind"),
    sa.Column("to_hardware_type_id", sa.BigInteger, sa.ForeignKey("hardware_types.hardware_type_id"), nullable=True),
    text("reason"),
    at("due_at"),
    at("back_at", nullable=True),
    text("status", default="announced"),
    generation(),
    at("created_at"),
    at("finished_at", nullable=True),
    sa.Column("msb_id", sa.BigInteger, nullable=True),
    sa.Column("datacenter_id", sa.BigInteger, nullable=True),
    one_of("scope", "server", "rack", "msb", "datacenter"),
    one_of("kind", "decommission", "refresh"),
    one_of("status", "announced", "done", "cancelled"),
    sa.CheckConstraint(
        "num_nonnulls(datacenter_id, msb_id, rack_id, server_id) = 1 AND CASE scope "
        "WHEN 'datacenter' THEN datacenter_id WHEN 'msb' THEN msb_id "
        "WHEN 'rack' THEN rack_id ELSE server_id END IS NOT NULL",
        name="scope_id",
    ),
    sa.CheckConstraint("(kind = 'refresh') = (to_hardware_type_id IS NOT NULL)", name="to_hardware_type_id"),
    sa.CheckConstraint("back_at IS NULL OR (back_at > due_at AND kind = 'refresh')", name="back_at"),
    sa.CheckConstraint("(status = 'announced') = (finished_at IS NULL)", name="finished_at"),
    sa.ForeignKeyConstraint(["region_id", "rack_id"], ["racks.region_id", "racks.rack_id"]),
    sa.ForeignKeyConstraint(["region_id", "server_id"], ["servers.region_id", "servers.server_id"]),
    sa.ForeignKeyConstraint(["region_id", "msb_id"], ["msbs.region_id", "msbs.msb_id"]),
    sa.ForeignKeyConstraint(["region_id", "datacenter_id"], ["datacenters.region_id", "datacenters.datacenter_id"]),
    sa.Index("ix_retirements_region_id", "region_id", "retirement_id"),
    sa.Index("uq_retirements_rack", "rack_id", unique=True, postgresql_where=sa.text("status = 'announced'")),
    sa.Index("uq_retirements_server", "server_id", unique=True, postgresql_where=sa.text("status = 'announced'")),
    sa.Index("uq_retirements_msb", "msb_id", unique=True, postgresql_where=sa.text("status = 'announced'")),
    sa.Index(
        "uq_retirements_datacenter", "datacenter_id", unique=True, postgresql_where=sa.text("status = 'announced'")
    ),
)

# Proposed changes to the servers of a region, with totals. An import is applied as a whole or not at all.
imports = sa.Table(
    "imports",
    metadata,
    key("import_id"),
    ref("regions.region_id"),
    text("mode"),
    text("status"),
    json("counts"),
    json("attributes"),
    text("proposed_by"),
    text("decided_by", nullable=True),
    generation(),
    at("created_at"),
    at("decided_at", nullable=True),
    one_of("mode", "merge", "only_add", "prune"),
    one_of("status", "proposed", "confirmed", "discarded"),
    sa.Index("ix_imports_region_id", "region_id", "import_id"),
)

import_items = sa.Table(
    "import_items",
    metadata,
    sa.Column("import_id", sa.BigInteger, sa.ForeignKey("imports.import_id"), primary_key=True),
    sa.Column("item_index", sa.BigInteger, primary_key=True),
    text("action"),
    text("server"),
    ref("servers.server_id", nullable=True),
    sa.Column("server_generation", sa.BigInteger, nullable=True),
    text("reservation", nullable=True),
    text("datacenter", nullable=True),
    text("msb", nullable=True),
    text("rack", nullable=True),
    text("hardware_type", nullable=True),
    text("unavailability", nullable=True),
    json("domains", nullable=True),
    text("was_msb", nullable=True),
    text("was_rack", nullable=True),
    text("was_hardware_type", nullable=True),
    text("was_unavailability", nullable=True),
    json("was_domains", nullable=True),
    one_of("action", "add", "change", "retire", "refuse", "keep"),
    sa.CheckConstraint("(action = 'add') = (server_id IS NULL)", name="server_id"),
    sa.Index("ix_import_items_action", "import_id", "action", "item_index"),
)
