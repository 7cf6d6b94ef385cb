"""Add replacements, dead letters, the mover settings of a region, and conditions of regions."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TABLES = """
ALTER TABLE plans DROP CONSTRAINT ck_plans_kind;
ALTER TABLE plans ADD CONSTRAINT ck_plans_kind CHECK (kind IN ('import', 'solve', 'grant', 'release', 'replacement'));

ALTER TABLE move_steps DROP CONSTRAINT ck_move_steps_outcome;
ALTER TABLE move_steps ADD CONSTRAINT ck_move_steps_outcome
    CHECK (outcome IN ('done', 'failed', 'cancelled', 'skipped'));

ALTER TABLE moves
    ADD COLUMN ask_at TIMESTAMP WITH TIME ZONE,
    ADD COLUMN calls_failed INTEGER DEFAULT 0 NOT NULL,
    ADD COLUMN note TEXT,
    ADD COLUMN dead_letter TEXT,
    ADD CONSTRAINT ck_moves_dead_letter CHECK (dead_letter IN ('open', 'retried', 'skipped', 'mended'));

CREATE INDEX ix_moves_dead_letters ON moves (server_id) WHERE dead_letter = 'open';

CREATE INDEX ix_moves_started ON moves (region_id, created_at);

CREATE TABLE movers (
    region_id BIGINT NOT NULL,
    paused_at TIMESTAMP WITH TIME ZONE,
    paused_reason TEXT,
    moves_max INTEGER,
    msb_share_max DOUBLE PRECISION,
    msb_moves_max INTEGER,
    msb_starts_per_minute INTEGER,
    generation BIGINT DEFAULT 1 NOT NULL,
    patient_since TIMESTAMP WITH TIME ZONE,
    ticks_failed INTEGER DEFAULT 0 NOT NULL,
    probe_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_movers PRIMARY KEY (region_id),
    CONSTRAINT fk_movers_region_id FOREIGN KEY(region_id) REFERENCES regions (region_id),
    CONSTRAINT ck_movers_moves_max CHECK (moves_max > 0),
    CONSTRAINT ck_movers_msb_share_max CHECK (msb_share_max > 0 AND msb_share_max <= 1),
    CONSTRAINT ck_movers_msb_moves_max CHECK (msb_moves_max > 0),
    CONSTRAINT ck_movers_msb_starts_per_minute CHECK (msb_starts_per_minute > 0)
);

CREATE TABLE region_conditions (
    region_id BIGINT NOT NULL,
    type TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    message TEXT NOT NULL,
    numbers JSONB NOT NULL,
    changed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    observed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_region_conditions PRIMARY KEY (region_id, type),
    CONSTRAINT fk_region_conditions_region_id FOREIGN KEY(region_id) REFERENCES regions (region_id),
    CONSTRAINT ck_region_conditions_status CHECK (status IN ('True', 'False', 'Unknown'))
);
"""


def upgrade() -> None:
    op.execute(TABLES)
    # The notes of the breaker, at every tick, change no field that operators edit.
    # They must not make the If-Match of an operator stale.
    columns = "paused_at, paused_reason, moves_max, msb_share_max, msb_moves_max, msb_starts_per_minute"
    op.execute(
        f"CREATE TRIGGER raise_generation BEFORE UPDATE OF {columns} ON movers "
        "FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION raise_generation()"
    )
    # For moves that failed before dead letters existed, the event of the server keeps the mover away.
    op.execute("UPDATE moves SET dead_letter = 'mended' WHERE status = 'failed'")


def downgrade() -> None:
    raise RuntimeError("dead letters and skipped steps have no place in the schema before: restore a backup instead")
