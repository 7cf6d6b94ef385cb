"""Prices for what containers offer, and placing by them: what `solvers/price/solver.py` is made of."""
