"""The solver's region, with one app that has the routes of both: simulated there, applied here."""

from tests.services.solver.conftest import client, database, settings, simulate

__all__ = ["client", "database", "settings", "simulate"]
