"""What a caller asked of the store that cannot be: each names the noun, so that a client learns what to change."""

from __future__ import annotations


class NotFound(Exception):
    """There is no such row."""

    def __init__(self, noun: str, identifier: object) -> None:
        self.noun, self.identifier = noun, identifier
        super().__init__(f"there is no {noun} {identifier}")


class AlreadyExists(Exception):
    """There is such a row already."""

    def __init__(self, noun: str, identifier: object) -> None:
        self.noun, self.identifier = noun, identifier
        super().__init__(f"there is already a {noun} {identifier}")


class NotPossible(Exception):
    """The write would break a rule of the data. `field` says which part of the request to change."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)
