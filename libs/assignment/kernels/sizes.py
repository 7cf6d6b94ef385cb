"""Bound one change. The sizes of its scratch arrays follow from these limits."""

MOVES_MAX = 32
"""Objects that one change may move."""
LEAVES_MAX = 8
"""Leaves that a direct cell may have."""
