"""Solve a problem in one call, and answer in names."""
