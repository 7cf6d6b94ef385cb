"""All of it on one machine, with an embedded PostgreSQL."""
