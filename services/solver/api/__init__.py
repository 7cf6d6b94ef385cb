"""Routers of the solver, one per resource."""
