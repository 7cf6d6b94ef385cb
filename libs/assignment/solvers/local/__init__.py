"""Search locally: moves on the expression graph as flat arrays, evaluated in compiled kernels."""
