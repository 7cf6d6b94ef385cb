"""The constraints of the Flux model, one block per file. Each docstring states the block's mathematics."""
