"""What a caller asked of the store that cannot be: each names the noun, so that a client learns what to change."""

from __future__ import annotations

from libs.reconcile.errors import StaleGeneration


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


def is_stale(error: Exception) -> bool:
    """Return whether a loop that meets this error should read its input again and decide again.

    That holds for a row that changed and for a row that another writer made first. It holds for a reservation that was
    deleted meanwhile: the next snapshot does not have it. Any other missing thing is an error.
    """
    if isinstance(error, NotFound):
        return error.noun == "reservation"
    return isinstance(error, StaleGeneration | AlreadyExists)
