"""The one call of the library, and its answer in names."""
