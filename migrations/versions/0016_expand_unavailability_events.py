"""Add `unavailability_events.state` and `answer`, and approvals of overrides of the rules of maintenance.

Events of before are allowed, which is what they were. Processes of the previous version neither read nor write the
columns. Their planned events take effect at once, and they would count queued events as begun: stop the brokers and
movers of the previous version before those of this one start.
"""

from __future__ import annotations

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None
old_processes_stop = "brokers and movers of before count queued maintenance as begun"

STATES = ("announced", "queued", "awaiting_approval", "allowed", "refused")


def upgrade() -> None:
    op.execute("ALTER TABLE unavailability_events ADD COLUMN state text NOT NULL DEFAULT 'allowed'")
    op.execute("ALTER TABLE unavailability_events ADD COLUMN answer jsonb")
    _check("unavailability_events", "state", f"state IN ({', '.join(repr(state) for state in STATES)})")
    _check("unavailability_events", "unplanned", "kind = 'planned' OR state = 'allowed'")
    _check("unavailability_events", "refused", "state <> 'refused' OR ended_at IS NOT NULL")
    op.execute(
        "CREATE INDEX ix_unavailability_events_asking ON unavailability_events (region_id, unavailability_event_id) "
        "WHERE ended_at IS NULL AND state IN ('announced', 'queued')"
    )
    _kinds("'capacity_request', 'region_policy', 'maintenance_override'")


def downgrade() -> None:
    op.execute("DELETE FROM approvals WHERE kind = 'maintenance_override'")
    _kinds("'capacity_request', 'region_policy'")
    op.execute("DROP INDEX ix_unavailability_events_asking")
    # In the previous version they would begin at once.
    op.execute("UPDATE unavailability_events SET ended_at = now() WHERE ended_at IS NULL AND state <> 'allowed'")
    for name in ("state", "unplanned", "refused"):
        op.execute(f"ALTER TABLE unavailability_events DROP CONSTRAINT ck_unavailability_events_{name}")
    op.execute("ALTER TABLE unavailability_events DROP COLUMN answer")
    op.execute("ALTER TABLE unavailability_events DROP COLUMN state")


def _check(table: str, name: str, condition: str) -> None:
    op.execute(f"ALTER TABLE {table} ADD CONSTRAINT ck_{table}_{name} CHECK ({condition})")


def _kinds(kinds: str) -> None:
    op.execute("ALTER TABLE approvals DROP CONSTRAINT ck_approvals_kind")
    _check("approvals", "kind", f"kind IN ({kinds})")
