"""The model that a history is held against. Pure: no platform, no clock, no database."""

from soak.judge.rules import AT_ANY_TIME, RULES, judge
from soak.judge.violation import Violation

__all__ = ["AT_ANY_TIME", "RULES", "Violation", "judge"]
