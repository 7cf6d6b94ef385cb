"""Bring current bindings to the targets, one bounded step at a time."""
