"""Whole regions: import, export, summary, conditions and policies."""
