"""Provide at least one use of every spec, with its cost in plain Python. All specs are tested with these."""

from tests.libs.assignment.examples import composed, groups, limits, movement, use
from tests.libs.assignment.examples.example import Example

EXAMPLES: dict[str, Example] = {
    name: example for by in (limits, groups, movement, use, composed) for name, example in by.EXAMPLES.items()
}
