"""The region folder."""
