"""The names that every problem knows without being told."""

COUNT = "count"
"""The dimension in which every object is 1."""
CONTAINER = "container"
"""The scope in which every container is an item of its own."""
