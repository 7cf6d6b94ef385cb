"""Place objects by prices of room in containers: the parts of `solvers/price/solver.py`."""
