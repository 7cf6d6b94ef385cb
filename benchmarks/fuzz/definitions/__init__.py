"""What each spec means, written once more from its page in docs/assignment, in plain Python."""

from benchmarks.fuzz.definitions import composed, groups, limits, movement, use
from benchmarks.fuzz.definitions.meaning import DEFINITIONS, Meaning, excess_of, meaning

__all__ = ["DEFINITIONS", "Meaning", "composed", "excess_of", "groups", "limits", "meaning", "movement", "use"]
