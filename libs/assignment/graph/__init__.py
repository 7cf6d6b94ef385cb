"""The expression graph of a problem in its solved form, shared by all solvers: cells, maps, classes and bounds."""
