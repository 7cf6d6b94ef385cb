"""Define the specs, one per file."""
