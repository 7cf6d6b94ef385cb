"""Prices for what containers offer, and placing by them: what `solvers/price.py` is made of."""
