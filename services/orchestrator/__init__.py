"""Carries out placement plans: docs/designs/0035-orchestrator.md."""
