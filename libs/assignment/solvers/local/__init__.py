"""Local search: the expression graph as flat arrays, changes of it in compiled kernels, and the moves that use them."""
