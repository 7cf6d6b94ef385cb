"""Structured logs that hold no secret, and traces."""
