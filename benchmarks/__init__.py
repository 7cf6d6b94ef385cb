"""Benchmarks for `./scripts/bench`, one per file. They may import everything, and nothing imports them."""
