"""Add `domains` and `server_domains`: the servers' domains of further kinds, such as network blocks (design 0051).

Processes of the previous version read and write neither. A region that they import has no further kinds.
"""

from __future__ import annotations

from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE domains (
            domain_id bigint GENERATED ALWAYS AS IDENTITY,
            region_id bigint NOT NULL,
            kind text NOT NULL,
            name text NOT NULL,
            CONSTRAINT pk_domains PRIMARY KEY (domain_id),
            CONSTRAINT uq_domains_region_id_kind_name UNIQUE (region_id, kind, name),
            CONSTRAINT uq_domains_region_id_kind_domain_id UNIQUE (region_id, kind, domain_id),
            CONSTRAINT fk_domains_region_id FOREIGN KEY (region_id) REFERENCES regions (region_id)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE server_domains (
            region_id bigint NOT NULL,
            server_id bigint NOT NULL,
            kind text NOT NULL,
            domain_id bigint NOT NULL,
            CONSTRAINT pk_server_domains PRIMARY KEY (server_id, kind),
            CONSTRAINT fk_server_domains_region_id_server_id
                FOREIGN KEY (region_id, server_id) REFERENCES servers (region_id, server_id),
            CONSTRAINT fk_server_domains_region_id_kind_domain_id
                FOREIGN KEY (region_id, kind, domain_id) REFERENCES domains (region_id, kind, domain_id)
        )
        """
    )
    op.execute("CREATE INDEX ix_server_domains_region_id ON server_domains (region_id)")


def downgrade() -> None:
    op.execute("DROP TABLE server_domains")
    op.execute("DROP TABLE domains")
