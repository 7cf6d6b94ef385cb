"""Routers of the solver, one per resource."""

from services.solver.api.simulations import router as simulations
from services.solver.api.solve_runs import router as solve_runs

ROUTERS = (solve_runs, simulations)
"""For create_app."""
