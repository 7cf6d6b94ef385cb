"""Bounds on one change, which the size of its scratch arrays follows from."""

MOVES_MAX = 32
"""Objects that one change may move."""
LEAVES_MAX = 8
"""Leaves that a direct cell may have."""
