"""Allow the role `executor` for tokens of systems that carry out capacity events.

Processes of the previous version refuse such a token: they do not know its role. So make the first one when all
processes run this version.
"""

from __future__ import annotations

from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

ROLES = ("viewer", "requester", "operator", "admin", "allocator", "health", "telemetry")


def upgrade() -> None:
    _roles((*ROLES, "executor"))


def downgrade() -> None:
    op.execute("UPDATE tokens SET role = 'viewer' WHERE role = 'executor'")
    _roles(ROLES)


def _roles(roles: tuple[str, ...]) -> None:
    op.execute("ALTER TABLE tokens DROP CONSTRAINT ck_tokens_role")
    op.execute(f"ALTER TABLE tokens ADD CONSTRAINT ck_tokens_role CHECK (role IN ({', '.join(map(repr, roles))}))")
