"""Replay bundles."""
