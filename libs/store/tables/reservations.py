"""Reservations with what they ask for, what was found of them, and what was booked for them."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from libs.store.tables.columns import at, generation, json, key, metadata, one_of, ref, text

reservations = sa.Table(
    "reservations",
    metadata,
    key("reservation_id"),
    ref("regions.region_id"),
    text("name"),
    text("kind"),
    text("owner"),
    text("host_profile"),
    text("unit"),
    sa.Column("capacity_rru", sa.Double, nullable=False),
    # The RRU promised when it was imported; null: it was not, an earlier version did it, or its RRUs have changed.
    sa.Column("imported_rru", sa.Double, nullable=True),
    sa.Column("survives_msb_loss", sa.Boolean, nullable=False),
    # Further kinds of domain: it also survives the loss of any one domain of each.
    sa.Column("survives_loss_of", ARRAY(sa.Text), nullable=False, server_default=sa.text("'{}'::text[]")),
    sa.Column("msb_spread_limit", sa.Double, nullable=True),
    sa.Column("rack_spread_limit", sa.Double, nullable=True),
    sa.Column("priority", sa.BigInteger, nullable=False, server_default=sa.text("2")),
    sa.Column("move_cost", sa.Double, nullable=False, server_default=sa.text("1")),
    sa.Column("gbit_per_rru", sa.Double, nullable=False, server_default=sa.text("0")),
    sa.Column("msb_share_max", sa.Double, nullable=True),
    generation(),
    at("created_at"),
    at("deleted_at", nullable=True),
    at("starts_at", nullable=True),
    at("ends_at", nullable=True),
    # Some of its servers may still have the host profile of before.
    sa.Column("profile_changed", sa.Boolean, nullable=False, server_default=sa.false()),
    # The class of the catalogue that its RRUs follow; null: they are its own.
    sa.Column("workload_class", sa.Text, nullable=True),
    # The name of the reservation whose holdings its affinity follows; null: the shares are its own.
    sa.Column("affinity_follows", sa.Text, nullable=True),
    # The reservation on whose servers it is: it is a guest there, and no server is bound to it.
    sa.Column("host_reservation_id", sa.BigInteger, nullable=True),
    # The share of each of its servers that it has: of a guest its own, of a host what its guests leave.
    sa.Column("server_share", sa.Double, nullable=False, server_default=sa.text("1")),
    # True until its window begins. Until then it has a name and no servers.
    sa.Column("scheduled", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.UniqueConstraint("region_id", "reservation_id"),
    sa.CheckConstraint("server_share > 0 AND server_share <= 1", name="server_share"),
    one_of("kind", "guaranteed", "shared_buffer", "elastic"),
    one_of("unit", "rru", "count"),
    sa.CheckConstraint("priority BETWEEN 0 AND 4", name="priority"),
    sa.CheckConstraint("move_cost BETWEEN 0.1 AND 10", name="move_cost"),
    sa.CheckConstraint("gbit_per_rru BETWEEN 0 AND 10000", name="gbit_per_rru"),
    sa.CheckConstraint("msb_share_max > 0 AND msb_share_max <= 1", name="msb_share_max"),
    sa.CheckConstraint("capacity_rru >= 0 AND capacity_rru < 'infinity'", name="capacity_rru"),
    sa.CheckConstraint("imported_rru >= 0 AND imported_rru < 'infinity'", name="imported_rru"),
    sa.CheckConstraint("msb_spread_limit > 0 AND msb_spread_limit < 'infinity'", name="msb_spread_limit"),
    sa.CheckConstraint("rack_spread_limit > 0 AND rack_spread_limit < 'infinity'", name="rack_spread_limit"),
    sa.Index(
        "uq_reservations_live_name",
        "region_id",
        "name",
        unique=True,
        postgresql_where=sa.text("deleted_at IS NULL"),
    ),
    sa.Index(
        "ix_reservations_workload_class",
        "region_id",
        "workload_class",
        postgresql_where=sa.text("workload_class IS NOT NULL AND deleted_at IS NULL"),
    ),
    sa.Index(
        "ix_reservations_affinity_follows",
        "region_id",
        postgresql_where=sa.text("affinity_follows IS NOT NULL AND deleted_at IS NULL"),
    ),
    sa.Index(
        "ix_reservations_host_reservation_id",
        "host_reservation_id",
        postgresql_where=sa.text("host_reservation_id IS NOT NULL AND deleted_at IS NULL"),
    ),
    sa.Index(
        "ix_reservations_survives_loss_of",
        "region_id",
        postgresql_where=sa.text("survives_loss_of <> '{}' AND deleted_at IS NULL"),
    ),
    sa.CheckConstraint("ends_at > starts_at", name="ends_at"),
    sa.CheckConstraint("NOT scheduled OR starts_at IS NOT NULL", name="scheduled"),
    sa.Index("ix_reservations_profile_changed", "region_id", postgresql_where=sa.text("profile_changed")),
    sa.Index(
        "ix_reservations_windows",
        "region_id",
        postgresql_where=sa.text("deleted_at IS NULL AND (scheduled OR ends_at IS NOT NULL)"),
    ),
)

reservation_rru = sa.Table(
    "reservation_rru",
    metadata,
    sa.Column("reservation_id", sa.BigInteger, sa.ForeignKey("reservations.reservation_id"), primary_key=True),
    sa.Column("hardware_type_id", sa.BigInteger, sa.ForeignKey("hardware_types.hardware_type_id"), primary_key=True),
    # Of its share of a server.
    sa.Column("rru", sa.Double, nullable=False),
    # Of a whole server, as its owner says; null: the same.
    sa.Column("whole_rru", sa.Double, nullable=True),
    sa.CheckConstraint("rru > 0 AND rru < 'infinity'", name="rru"),
    sa.CheckConstraint("whole_rru > 0 AND whole_rru < 'infinity'", name="whole_rru"),
)

reservation_affinity = sa.Table(
    "reservation_affinity",
    metadata,
    sa.Column("region_id", sa.BigInteger, nullable=False),
    sa.Column("reservation_id", sa.BigInteger, primary_key=True),
    sa.Column("datacenter_id", sa.BigInteger, primary_key=True),
    sa.Column("share", sa.Double, nullable=False),
    sa.ForeignKeyConstraint(["region_id", "reservation_id"], ["reservations.region_id", "reservations.reservation_id"]),
    sa.ForeignKeyConstraint(["region_id", "datacenter_id"], ["datacenters.region_id", "datacenters.datacenter_id"]),
    sa.CheckConstraint("share >= 0 AND share < 'infinity'", name="share"),
)

# The only datacenters that may hold servers of a reservation; no row: all.
reservation_datacenters = sa.Table(
    "reservation_datacenters",
    metadata,
    sa.Column("region_id", sa.BigInteger, nullable=False),
    sa.Column("reservation_id", sa.BigInteger, primary_key=True),
    sa.Column("datacenter_id", sa.BigInteger, primary_key=True),
    sa.ForeignKeyConstraint(["region_id", "reservation_id"], ["reservations.region_id", "reservations.reservation_id"]),
    sa.ForeignKeyConstraint(["region_id", "datacenter_id"], ["datacenters.region_id", "datacenters.datacenter_id"]),
)

# Limits per kind of domain: datacenter, msb, or a further kind of the region. All are hard but domains_preferred.
reservation_domain_limits = sa.Table(
    "reservation_domain_limits",
    metadata,
    sa.Column("region_id", sa.BigInteger, nullable=False),
    sa.Column("reservation_id", sa.BigInteger, primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("domains_max", sa.BigInteger, nullable=True),
    sa.Column("servers_max", sa.BigInteger, nullable=True),
    sa.Column("share_max", sa.Double, nullable=True),
    sa.Column("domains_preferred", sa.BigInteger, nullable=True),
    sa.ForeignKeyConstraint(["region_id", "reservation_id"], ["reservations.region_id", "reservations.reservation_id"]),
    sa.CheckConstraint("domains_max >= 1", name="domains_max"),
    sa.CheckConstraint("servers_max >= 1", name="servers_max"),
    sa.CheckConstraint("share_max > 0 AND share_max <= 1", name="share_max"),
    sa.CheckConstraint("domains_preferred >= 1", name="domains_preferred"),
    sa.CheckConstraint(
        "domains_max IS NOT NULL OR servers_max IS NOT NULL OR share_max IS NOT NULL OR domains_preferred IS NOT NULL",
        name="some",
    ),
    sa.Index("ix_reservation_domain_limits_region_id", "region_id"),
)

# Amounts that a reservation asks for beside its RRU; a resource is an attribute of hardware types.
reservation_resources = sa.Table(
    "reservation_resources",
    metadata,
    sa.Column("region_id", sa.BigInteger, nullable=False),
    sa.Column("reservation_id", sa.BigInteger, primary_key=True),
    sa.Column("resource", sa.Text, primary_key=True),
    sa.Column("amount", sa.Double, nullable=False),
    sa.ForeignKeyConstraint(["region_id", "reservation_id"], ["reservations.region_id", "reservations.reservation_id"]),
    sa.CheckConstraint("amount > 0 AND amount < 'infinity'", name="amount"),
    sa.Index("ix_reservation_resources_region_id", "region_id"),
)

# A table of its own, so that a solve's findings do not raise the generation that owners compare-and-swap on.
reservation_statuses = sa.Table(
    "reservation_statuses",
    metadata,
    sa.Column("reservation_id", sa.BigInteger, sa.ForeignKey("reservations.reservation_id"), primary_key=True),
    sa.Column("observed_generation", sa.BigInteger, nullable=False),
    text("phase"),
    text("reason"),
    text("message"),
    json("numbers"),
    at("changed_at"),
    at("observed_at"),
    one_of("phase", "granted", "degraded"),
)

# The state of what is booked for a reservation that has not begun. A table of its own, for the same reason.
bookings = sa.Table(
    "bookings",
    metadata,
    sa.Column("reservation_id", sa.BigInteger, sa.ForeignKey("reservations.reservation_id"), primary_key=True),
    sa.Column("observed_generation", sa.BigInteger, nullable=False),
    sa.Column("is_promise", sa.Boolean, nullable=False),
    text("reason"),
    text("message"),
    json("numbers"),
    at("changed_at"),
    at("decided_at"),
)

booked_servers = sa.Table(
    "booked_servers",
    metadata,
    sa.Column("region_id", sa.BigInteger, nullable=False),
    sa.Column("reservation_id", sa.BigInteger, primary_key=True),
    sa.Column("server_id", sa.BigInteger, primary_key=True),
    sa.ForeignKeyConstraint(["region_id", "reservation_id"], ["reservations.region_id", "reservations.reservation_id"]),
    sa.ForeignKeyConstraint(["region_id", "server_id"], ["servers.region_id", "servers.server_id"]),
    sa.Index("ix_booked_servers_server_id", "server_id"),
)

excepted_reservations = sa.Table(
    "excepted_reservations",
    metadata,
    sa.Column("approval_id", sa.BigInteger, sa.ForeignKey("approvals.approval_id"), primary_key=True),
    sa.Column("reservation_id", sa.BigInteger, sa.ForeignKey("reservations.reservation_id"), primary_key=True),
    sa.Column("below_rru", sa.Double, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("servers", sa.Integer, nullable=False),
    sa.CheckConstraint("below_rru >= 0", name="below_rru"),
)

# The servers that leave them, and their way; 0: to no reservation.
excepted_servers = sa.Table(
    "excepted_servers",
    metadata,
    sa.Column("approval_id", sa.BigInteger, sa.ForeignKey("approvals.approval_id"), primary_key=True),
    sa.Column("server_id", sa.BigInteger, primary_key=True),
    sa.Column("from_reservation_id", sa.BigInteger, nullable=False),
    sa.Column("to_reservation_id", sa.BigInteger, nullable=False),
)

# The RRU catalogue of a region. A class changes by another version; no row is ever changed.
rru_versions = sa.Table(
    "rru_versions",
    metadata,
    key("rru_version_id"),
    ref("regions.region_id"),
    text("workload_class"),
    sa.Column("version", sa.BigInteger, nullable=False),
    text("reference"),
    json("rru"),
    sa.Column("asked_by", ARRAY(sa.Text), nullable=False),
    text("approved_by"),
    text("reason", nullable=True),
    at("created_at"),
    sa.UniqueConstraint("region_id", "workload_class", "version"),
    sa.CheckConstraint("version >= 1", name="version"),
)

# A row per change of what a reservation asks for, is promised or holds, or of its readiness. Between two rows, nothing
# changed.
readiness_changes = sa.Table(
    "readiness_changes",
    metadata,
    sa.Column("reservation_id", sa.BigInteger, sa.ForeignKey("reservations.reservation_id"), primary_key=True),
    sa.Column("from_at", sa.DateTime(timezone=True), primary_key=True),
    at("since_at"),
    text("readiness"),
    sa.Column("observed_generation", sa.BigInteger, nullable=False),
    sa.Column("capacity_rru", sa.Double, nullable=False),
    # The part of it that was promised; null: an earlier version wrote the row.
    sa.Column("granted_rru", sa.Double, nullable=True),
    sa.Column("held_rru", sa.Double, nullable=True),
    sa.Column("held_after_msb_loss_rru", sa.Double, nullable=True),
    # Sums over all time before from_at. Two rows give the availability between them, however many lie between.
    sa.Column("ready_s", sa.Double, nullable=False),
    sa.Column("watched_s", sa.Double, nullable=False),
    one_of("readiness", "Held", "SurvivesLoss", "NotThereYet", "CapacityLost", "NothingPromised", "NotWatched"),
)

# The last look at each region: up to when its history is known, and the numbers of its guaranteed reservations.
readiness_watches = sa.Table(
    "readiness_watches",
    metadata,
    sa.Column("region_id", sa.BigInteger, sa.ForeignKey("regions.region_id"), primary_key=True),
    at("watched_until"),
    *(sa.Column(name, sa.Integer, nullable=False) for name in ("ready", "not_there_yet", "capacity_lost")),
    *(
        sa.Column(name, sa.Double, nullable=False)
        for name in ("capacity_rru", "held_rru", "held_after_msb_loss_rru", "missing_rru")
    ),
)
