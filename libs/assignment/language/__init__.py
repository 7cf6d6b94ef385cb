"""State a problem: objects, containers, dimensions, scopes, partitions, specs and their expressions."""
