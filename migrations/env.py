"""Alembic runs this file for every upgrade; `libs.store.migrate` gives it the connection that holds the lock."""

from alembic import context

from libs.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
