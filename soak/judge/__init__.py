"""Rules that a history must satisfy. They are pure: they use no platform, no clock and no database."""

from soak.judge.rules import AT_ANY_TIME, RULES, judge
from soak.judge.violation import Violation

__all__ = ["AT_ANY_TIME", "RULES", "Violation", "judge"]
