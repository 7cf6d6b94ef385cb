"""Run all services on one machine, with an embedded PostgreSQL."""
