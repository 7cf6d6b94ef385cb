"""Refine the plan of the first phase for a few reservations. One file per phase (docs/designs/0048)."""
