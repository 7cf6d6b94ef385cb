"""Add the RRU catalogue: `rru_versions`, `reservations.workload_class`, and approvals of changes of the catalogue.

Processes of the previous version do not read the catalogue. A resize by such a process leaves the class in
place, and the next solve sets the RRUs back to those of the class.

They know no approval of kind `rru_class`, and cannot list approvals once there is one. So propose no class (`plimsoll
rru set`) while a portal of the previous version runs. docs/running.md tells operators so.
"""

from __future__ import annotations

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None
old_processes_stop = "portals of before cannot list approvals of the RRU catalogue"

KINDS = ("capacity_request", "region_policy", "maintenance_override")


def upgrade() -> None:
    op.execute(
        """CREATE TABLE rru_versions (
            rru_version_id bigint GENERATED ALWAYS AS IDENTITY,
            region_id bigint NOT NULL,
            workload_class text NOT NULL,
            version bigint NOT NULL,
            reference text NOT NULL,
            rru jsonb NOT NULL,
            asked_by text[] NOT NULL,
            approved_by text NOT NULL,
            reason text,
            created_at timestamptz NOT NULL,
            CONSTRAINT pk_rru_versions PRIMARY KEY (rru_version_id),
            CONSTRAINT fk_rru_versions_region_id_regions FOREIGN KEY (region_id) REFERENCES regions (region_id),
            CONSTRAINT uq_rru_versions_region_id_workload_class_version UNIQUE (region_id, workload_class, version),
            CONSTRAINT ck_rru_versions_version CHECK (version >= 1)
        )"""
    )
    op.execute("ALTER TABLE reservations ADD COLUMN workload_class text")
    op.execute(
        "CREATE INDEX ix_reservations_workload_class ON reservations (region_id, workload_class) "
        "WHERE workload_class IS NOT NULL AND deleted_at IS NULL"
    )
    _kinds((*KINDS, "rru_class"))
    op.execute(
        "CREATE UNIQUE INDEX uq_approvals_pending_rru_class ON approvals (region_id, (change ->> 'workload_class')) "
        "WHERE status = 'pending' AND kind = 'rru_class'"
    )


def downgrade() -> None:
    op.execute("DROP INDEX uq_approvals_pending_rru_class")
    op.execute("DELETE FROM approvals WHERE kind = 'rru_class'")
    _kinds(KINDS)
    op.execute("DROP INDEX ix_reservations_workload_class")
    op.execute("ALTER TABLE reservations DROP COLUMN workload_class")
    op.execute("DROP TABLE rru_versions")


def _kinds(kinds: tuple[str, ...]) -> None:
    op.execute("ALTER TABLE approvals DROP CONSTRAINT ck_approvals_kind")
    op.execute(
        f"ALTER TABLE approvals ADD CONSTRAINT ck_approvals_kind CHECK (kind IN ({', '.join(map(repr, kinds))}))"
    )
