"""Mark the servers of shared buffers as unclean: the previous version joined them to their buffers.

Now a clean server of a shared buffer leaves it without `preempt`, because it has joined nothing. An unclean one is
preempted and cleaned first, as before. Stop the movers of the previous version before, while no move to a shared buffer
runs: a join that ends later is not marked.
"""

from __future__ import annotations

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None
old_processes_stop = "movers of before do not mark the servers that join a shared buffer"


def upgrade() -> None:
    op.execute(
        """
        UPDATE servers SET unclean = true FROM reservations
        WHERE reservation_id = current_reservation_id AND kind = 'shared_buffer'
        """
    )


def downgrade() -> None:
    """The mark does no harm there."""
