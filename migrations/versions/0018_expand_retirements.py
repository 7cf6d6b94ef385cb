"""Let whole MSBs and datacenters be retired: `retirements.msb_id` and `datacenter_id`.

Processes of the previous version do not see such retirements: they neither empty nor finish them, and they may give
their servers new targets. So announce none while such processes run.
"""

from __future__ import annotations

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

PLACES = ("msb", "datacenter")


def upgrade() -> None:
    for place in PLACES:
        op.execute(f"ALTER TABLE retirements ADD COLUMN {place}_id bigint")
        op.execute(
            f"ALTER TABLE retirements ADD CONSTRAINT fk_retirements_region_id_{place}_id_{place}s "
            f"FOREIGN KEY (region_id, {place}_id) REFERENCES {place}s (region_id, {place}_id)"
        )
        op.execute(f"CREATE UNIQUE INDEX uq_retirements_{place} ON retirements ({place}_id) WHERE status = 'announced'")
    _checks(
        "'server', 'rack', 'msb', 'datacenter'",
        "num_nonnulls(datacenter_id, msb_id, rack_id, server_id) = 1 AND CASE scope "
        "WHEN 'datacenter' THEN datacenter_id WHEN 'msb' THEN msb_id "
        "WHEN 'rack' THEN rack_id ELSE server_id END IS NOT NULL",
    )


def downgrade() -> None:
    op.execute("DELETE FROM retirements WHERE scope IN ('msb', 'datacenter')")
    _checks(
        "'server', 'rack'",
        "num_nonnulls(rack_id, server_id) = 1 AND CASE scope WHEN 'rack' THEN rack_id ELSE server_id END IS NOT NULL",
    )
    for place in PLACES:
        op.execute(f"ALTER TABLE retirements DROP COLUMN {place}_id")


def _checks(scopes: str, scope_id: str) -> None:
    for name, condition in (("scope", f"scope IN ({scopes})"), ("scope_id", scope_id)):
        op.execute(f"ALTER TABLE retirements DROP CONSTRAINT ck_retirements_{name}")
        op.execute(f"ALTER TABLE retirements ADD CONSTRAINT ck_retirements_{name} CHECK ({condition})")
