"""Loops of the mover."""
