"""Limits of one change. The sizes of the scratch arrays follow from them."""

MOVES_MAX = 32
"""Objects that one change may move."""
LEAVES_MAX = 8
"""Leaves that a direct cell may have."""
