"""How gates are measured: one source per file."""
