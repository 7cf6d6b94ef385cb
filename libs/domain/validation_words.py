"""The messages of Pydantic in the words of this product: requests, options and settings are all checked by it."""

from __future__ import annotations

import re

TIME = "a time with its offset from UTC, such as 2026-11-02T09:30:00Z"
"""A request's time is this, in words."""
_WORDS = (
    (r"Value error, ", ""),
    (r"Input should be a valid (integer|int)\b.*", "must be a whole number"),
    (r"Input should be a valid number\b.*", "must be a number"),
    (r"Input should be a finite number", "must be a finite number"),
    (r"Input should be a valid string", "must be a text"),
    (r"Input should be a valid boolean\b.*", "must be true or false"),
    (r"Input should be a valid (list|tuple|set)", "must be a list"),
    (r"Input should be (a valid dictionary|an object)\b.*", "must be a JSON object"),
    (r"Input should be a valid (datetime|date)\b.*", f"must be {TIME}"),
    (r"Input should have timezone info", f"must be {TIME}"),
    (r"Input should be greater than or equal to ", "must be at least "),
    (r"Input should be greater than ", "must be more than "),
    (r"Input should be less than or equal to ", "must be at most "),
    (r"Input should be ", "must be "),
    (r"[A-Z][a-z]+ should have (at (?:least|most) .*?)(?: after validation, not .*)?$", r"must have \1"),
    (r"Field required", "is required"),
)
_PATTERNS = tuple((re.compile(f"^{library}"), ours) for library, ours in _WORDS)


def without_library_words(message: str) -> str:
    """Return a message of Pydantic as what a value must be. A message of our own validators stays as it is."""
    for pattern, ours in _PATTERNS:
        said, found = pattern.subn(ours, message)
        if found:
            return said
    return message
