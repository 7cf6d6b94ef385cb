"""Loops of the orchestrator."""
