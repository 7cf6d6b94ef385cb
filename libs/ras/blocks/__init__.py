"""The constraints of the RAS model, one block per file. Each docstring is the block's mathematics."""
