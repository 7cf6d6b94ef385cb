"""Loops of the solver."""
