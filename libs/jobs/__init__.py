"""Celery messages that carry a job id, and the leases in PostgreSQL that make them safe."""
