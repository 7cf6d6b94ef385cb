"""Checks that a plan is legal and safe, by definition only and without a solver."""
