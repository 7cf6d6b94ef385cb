"""Name the dimension and the scope that every problem has."""

COUNT = "count"
"""The dimension in which the value of every object is 1."""
CONTAINER = "container"
"""The scope in which every container is an item of its own."""
