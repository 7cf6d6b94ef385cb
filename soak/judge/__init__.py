"""The model that a history is held against. Pure: no platform, no clock, no database."""

from soak.judge.rules import RULES, judge
from soak.judge.violation import Violation

__all__ = ["RULES", "Violation", "judge"]
