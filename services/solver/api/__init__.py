"""Routers of the solver, one per resource."""

from services.solver.api.solve_runs import router as solve_runs

ROUTERS = (solve_runs,)
"""For create_app."""
