"""State a problem: objects, containers, dimensions, scopes, partitions, specs and the expressions they compile to."""
