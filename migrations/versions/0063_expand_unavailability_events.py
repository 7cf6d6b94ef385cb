"""Add `unavailability_events.domain_id`, for events of a domain of a further kind, and an index of servers by domain.

Processes of the previous version neither read nor write the column. They would take the servers of such an event for
up, and could not list it. So report none, and drain no such domain, while such processes run (design 0067).
"""

from __future__ import annotations

from alembic import op

revision = "0063"
down_revision = "0062"
branch_labels = None
depends_on = None

_TABLE = "unavailability_events"


def upgrade() -> None:
    op.execute("ALTER TABLE domains ADD CONSTRAINT uq_domains_region_id_domain_id UNIQUE (region_id, domain_id)")
    op.execute("CREATE INDEX ix_server_domains_domain_id ON server_domains (domain_id)")
    op.execute(f"ALTER TABLE {_TABLE} ADD COLUMN domain_id bigint NULL")
    op.execute(
        f"ALTER TABLE {_TABLE} ADD CONSTRAINT fk_{_TABLE}_region_id_domain_id "
        "FOREIGN KEY (region_id, domain_id) REFERENCES domains (region_id, domain_id)"
    )
    _check("scope", "scope IN ('server', 'rack', 'msb', 'datacenter', 'domain')")
    _check(
        "scope_id",
        "num_nonnulls(datacenter_id, msb_id, rack_id, server_id, domain_id) = 1 AND CASE scope "
        "WHEN 'datacenter' THEN datacenter_id WHEN 'msb' THEN msb_id WHEN 'rack' THEN rack_id "
        "WHEN 'domain' THEN domain_id ELSE server_id END IS NOT NULL",
    )


def downgrade() -> None:
    # The previous version has no word for them. Its next refresh takes their servers for up.
    op.execute("DELETE FROM unavailability_events WHERE scope = 'domain'")
    _check("scope", "scope IN ('server', 'rack', 'msb', 'datacenter')")
    _check(
        "scope_id",
        "num_nonnulls(datacenter_id, msb_id, rack_id, server_id) = 1 AND CASE scope "
        "WHEN 'datacenter' THEN datacenter_id WHEN 'msb' THEN msb_id "
        "WHEN 'rack' THEN rack_id ELSE server_id END IS NOT NULL",
    )
    op.execute(f"ALTER TABLE {_TABLE} DROP COLUMN domain_id")
    op.execute("DROP INDEX ix_server_domains_domain_id")
    op.execute("ALTER TABLE domains DROP CONSTRAINT uq_domains_region_id_domain_id")


def _check(name: str, condition: str) -> None:
    op.execute(f"ALTER TABLE {_TABLE} DROP CONSTRAINT ck_{_TABLE}_{name}")
    op.execute(f"ALTER TABLE {_TABLE} ADD CONSTRAINT ck_{_TABLE}_{name} CHECK ({condition})")
