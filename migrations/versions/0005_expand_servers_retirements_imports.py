"""Add imports into existing regions, and the retirement of racks and servers."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

# A new server may take the name of a server that is gone.
SERVERS = """
ALTER TABLE servers ADD COLUMN decommissioned_at TIMESTAMP WITH TIME ZONE;

ALTER TABLE servers ADD CONSTRAINT ck_servers_decommissioned CHECK (
    decommissioned_at IS NULL
    OR (current_reservation_id IS NULL AND target_reservation_id IS NULL AND unavailability = 'unplanned')
);

CREATE UNIQUE INDEX uq_servers_live_name ON servers (region_id, name) WHERE decommissioned_at IS NULL;

ALTER TABLE servers DROP CONSTRAINT uq_servers_region_id_name;
"""

TABLES = """
CREATE TABLE retirements (
    retirement_id BIGINT GENERATED ALWAYS AS IDENTITY,
    region_id BIGINT NOT NULL,
    scope TEXT NOT NULL,
    rack_id BIGINT,
    server_id BIGINT,
    kind TEXT NOT NULL,
    to_hardware_type_id BIGINT,
    reason TEXT NOT NULL,
    due_at TIMESTAMP WITH TIME ZONE NOT NULL,
    back_at TIMESTAMP WITH TIME ZONE,
    status TEXT DEFAULT 'announced' NOT NULL,
    generation BIGINT DEFAULT 1 NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_retirements PRIMARY KEY (retirement_id),
    CONSTRAINT ck_retirements_scope CHECK (scope IN ('server', 'rack')),
    CONSTRAINT ck_retirements_kind CHECK (kind IN ('decommission', 'refresh')),
    CONSTRAINT ck_retirements_status CHECK (status IN ('announced', 'done', 'cancelled')),
    CONSTRAINT ck_retirements_scope_id CHECK (
        num_nonnulls(rack_id, server_id) = 1
        AND CASE scope WHEN 'rack' THEN rack_id ELSE server_id END IS NOT NULL
    ),
    CONSTRAINT ck_retirements_to_hardware_type_id CHECK ((kind = 'refresh') = (to_hardware_type_id IS NOT NULL)),
    CONSTRAINT ck_retirements_back_at CHECK (back_at IS NULL OR (back_at > due_at AND kind = 'refresh')),
    CONSTRAINT ck_retirements_finished_at CHECK ((status = 'announced') = (finished_at IS NULL)),
    CONSTRAINT fk_retirements_region_id_rack_id FOREIGN KEY(region_id, rack_id) REFERENCES racks (region_id, rack_id),
    CONSTRAINT fk_retirements_region_id_server_id
        FOREIGN KEY(region_id, server_id) REFERENCES servers (region_id, server_id),
    CONSTRAINT fk_retirements_region_id FOREIGN KEY(region_id) REFERENCES regions (region_id),
    CONSTRAINT fk_retirements_to_hardware_type_id
        FOREIGN KEY(to_hardware_type_id) REFERENCES hardware_types (hardware_type_id)
);

CREATE INDEX ix_retirements_region_id ON retirements (region_id, retirement_id);

CREATE UNIQUE INDEX uq_retirements_rack ON retirements (rack_id) WHERE status = 'announced';

CREATE UNIQUE INDEX uq_retirements_server ON retirements (server_id) WHERE status = 'announced';

CREATE TABLE imports (
    import_id BIGINT GENERATED ALWAYS AS IDENTITY,
    region_id BIGINT NOT NULL,
    mode TEXT NOT NULL,
    status TEXT NOT NULL,
    counts JSONB NOT NULL,
    attributes JSONB NOT NULL,
    proposed_by TEXT NOT NULL,
    decided_by TEXT,
    generation BIGINT DEFAULT 1 NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    decided_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_imports PRIMARY KEY (import_id),
    CONSTRAINT ck_imports_mode CHECK (mode IN ('merge', 'only_add', 'prune')),
    CONSTRAINT ck_imports_status CHECK (status IN ('proposed', 'confirmed', 'discarded')),
    CONSTRAINT fk_imports_region_id FOREIGN KEY(region_id) REFERENCES regions (region_id)
);

CREATE INDEX ix_imports_region_id ON imports (region_id, import_id);

CREATE TABLE import_items (
    import_id BIGINT NOT NULL,
    item_index BIGINT NOT NULL,
    action TEXT NOT NULL,
    server TEXT NOT NULL,
    server_id BIGINT,
    server_generation BIGINT,
    reservation TEXT,
    datacenter TEXT,
    msb TEXT,
    rack TEXT,
    hardware_type TEXT,
    unavailability TEXT,
    was_msb TEXT,
    was_rack TEXT,
    was_hardware_type TEXT,
    was_unavailability TEXT,
    CONSTRAINT pk_import_items PRIMARY KEY (import_id, item_index),
    CONSTRAINT ck_import_items_action CHECK (action IN ('add', 'change', 'retire', 'refuse', 'keep')),
    CONSTRAINT ck_import_items_server_id CHECK ((action = 'add') = (server_id IS NULL)),
    CONSTRAINT fk_import_items_import_id FOREIGN KEY(import_id) REFERENCES imports (import_id),
    CONSTRAINT fk_import_items_server_id FOREIGN KEY(server_id) REFERENCES servers (server_id)
);

CREATE INDEX ix_import_items_action ON import_items (import_id, action, item_index);
"""


def upgrade() -> None:
    op.execute(SERVERS)
    op.execute(TABLES)
    for table in ("retirements", "imports"):
        op.execute(
            f"CREATE TRIGGER raise_generation BEFORE UPDATE ON {table} "
            "FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION raise_generation()"
        )


def downgrade() -> None:
    op.execute("DROP TABLE import_items, imports, retirements")
    op.execute("ALTER TABLE servers ADD CONSTRAINT uq_servers_region_id_name UNIQUE (region_id, name)")
    op.execute("DROP INDEX uq_servers_live_name")
    op.execute("ALTER TABLE servers DROP CONSTRAINT ck_servers_decommissioned")
    op.execute("ALTER TABLE servers DROP COLUMN decommissioned_at")
