"""Structured logs without secrets, traces, and tallies."""
