"""Evaluate changes incrementally: kernels compute the effect of one change on the changed elements alone."""
