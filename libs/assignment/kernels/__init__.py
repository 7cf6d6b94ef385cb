"""Compile and cache kernels, and hold the code that all kernels share."""
