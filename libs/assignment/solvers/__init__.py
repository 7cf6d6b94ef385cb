"""Ways to solve a problem, one a file."""
