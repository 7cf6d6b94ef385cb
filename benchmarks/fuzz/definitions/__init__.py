"""Define each spec a second time, in plain Python, from its page in docs/assignment."""

from benchmarks.fuzz.definitions import composed, groups, limits, movement, use
from benchmarks.fuzz.definitions.meaning import DEFINITIONS, Meaning, excess_of, meaning

__all__ = ["DEFINITIONS", "Meaning", "composed", "excess_of", "groups", "limits", "meaning", "movement", "use"]
