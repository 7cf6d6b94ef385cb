"""Incremental evaluation: the effect of one change on the graph, in kernels that touch only changed elements."""
