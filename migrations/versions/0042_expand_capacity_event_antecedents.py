"""Check once per statement that the events of new antecedents exist (design 0046). Two foreign keys checked it per row.

Events of the ledger are never deleted, so a check of what is inserted is all that the keys did.
"""

from __future__ import annotations

from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

COLUMNS = ("capacity_event_id", "antecedent_id")


def upgrade() -> None:
    for column in COLUMNS:
        op.execute(f"ALTER TABLE capacity_event_antecedents DROP CONSTRAINT fk_capacity_event_antecedents_{column}")
    op.execute("""
        CREATE FUNCTION require_capacity_events() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            missing bigint;
        BEGIN
            SELECT wanted.id INTO missing
            FROM (SELECT capacity_event_id FROM added UNION SELECT antecedent_id FROM added) AS wanted (id)
            WHERE NOT EXISTS (SELECT FROM capacity_events AS event WHERE event.capacity_event_id = wanted.id)
            LIMIT 1;
            IF FOUND THEN
                RAISE foreign_key_violation USING MESSAGE = format('there is no capacity event %s', missing);
            END IF;
            RETURN NULL;
        END $$""")
    op.execute(
        "CREATE TRIGGER require_capacity_events AFTER INSERT ON capacity_event_antecedents "
        "REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION require_capacity_events()"
    )


def downgrade() -> None:
    op.execute("DROP TRIGGER require_capacity_events ON capacity_event_antecedents")
    op.execute("DROP FUNCTION require_capacity_events()")
    for column in COLUMNS:
        op.execute(
            f"ALTER TABLE capacity_event_antecedents ADD CONSTRAINT fk_capacity_event_antecedents_{column} "
            f"FOREIGN KEY ({column}) REFERENCES capacity_events (capacity_event_id)"
        )
