"""Moves, movers, dead letters, and the need for replacements."""
