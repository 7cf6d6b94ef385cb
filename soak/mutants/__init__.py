"""Faults planted in the platform on purpose, to see that the soak finds them. Nothing outside of this folder knows."""
