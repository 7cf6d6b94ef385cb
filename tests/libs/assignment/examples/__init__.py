"""For every spec at least one use of it, with its cost written out in plain Python: what all specs are tested with."""

from tests.libs.assignment.examples import composed, groups, limits, movement, use
from tests.libs.assignment.examples.example import Example

EXAMPLES: dict[str, Example] = {
    name: example for by in (limits, groups, movement, use, composed) for name, example in by.EXAMPLES.items()
}
