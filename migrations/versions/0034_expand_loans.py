"""Bound loans of servers in time: `servers.spare_since`, `spare_until` and `spare_recalled_at`, the setting
`movers.loan_s_max`, and `foretold_loans`, the loans that the plan in force expects (design 0038).

Processes of the previous version write none of them. Their mover lends without a limit, and the new one takes such a
server back at once, as soon as its reservation can spare it.
"""

from __future__ import annotations

from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("spare_since", "spare_until", "spare_recalled_at"):
        op.execute(f"ALTER TABLE servers ADD COLUMN {name} timestamptz")
    op.execute("ALTER TABLE movers ADD COLUMN loan_s_max double precision")
    op.execute("ALTER TABLE movers ADD CONSTRAINT ck_movers_loan_s_max CHECK (loan_s_max > 0)")
    op.execute(
        """
        CREATE TABLE foretold_loans (
            reservation_id bigint NOT NULL REFERENCES reservations (reservation_id),
            region_id bigint NOT NULL REFERENCES regions (region_id),
            servers integer NOT NULL, seconds double precision NOT NULL,
            CONSTRAINT pk_foretold_loans PRIMARY KEY (reservation_id)
        )
        """
    )
    op.execute("CREATE INDEX ix_foretold_loans_region_id ON foretold_loans (region_id, reservation_id)")


def downgrade() -> None:
    op.execute("DROP TABLE foretold_loans")
    op.execute("ALTER TABLE movers DROP COLUMN loan_s_max")
    for name in ("spare_recalled_at", "spare_until", "spare_since"):
        op.execute(f"ALTER TABLE servers DROP COLUMN {name}")
