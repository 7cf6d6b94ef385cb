"""Compile the expression graph of a problem for all solvers: cells, maps, classes and bounds."""
