"""Draw random arguments for each spec, and random goals and constraints."""

from benchmarks.fuzz.words import composed, groups, limits, movement, use
from benchmarks.fuzz.words.book import GENERATORS
from benchmarks.fuzz.words.markets import draw_market
from benchmarks.fuzz.words.wishes import draw_case

__all__ = ["GENERATORS", "composed", "draw_case", "draw_market", "groups", "limits", "movement", "use"]
