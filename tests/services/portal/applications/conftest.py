"""Provide the solver's region, with one app for both services: the solver simulates, the portal applies."""

from tests.services.solver.conftest import client, database, settings, simulate

__all__ = ["client", "database", "settings", "simulate"]
