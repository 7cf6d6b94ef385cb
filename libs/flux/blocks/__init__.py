"""The constraints of the Flux model, one block per file. Each docstring is the block's mathematics."""
