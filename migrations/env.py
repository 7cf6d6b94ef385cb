"""Run the migrations. `libs.store.platform.migrate` passes in the connection that holds the lock."""

from alembic import context

from libs.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
