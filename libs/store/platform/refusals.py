"""Errors of requests that the store refuses. Each error names its subject, so that a client knows what to change."""

from __future__ import annotations

from collections.abc import Sequence

from libs.domain.guest import has_guests
from libs.reconcile.errors import Overtaken, StaleGeneration


class NotFound(Exception):
    """The row does not exist."""

    def __init__(self, noun: str, identifier: object) -> None:
        self.noun, self.identifier = noun, identifier
        super().__init__(f"there is no {noun} {identifier}")


class AlreadyExists(Exception):
    """The row exists already. `todo` tells the client what to do instead."""

    def __init__(
        self, noun: str, identifier: object, todo: str = "choose another name, or change the one that is there"
    ) -> None:
        self.noun, self.identifier, self.todo = noun, identifier, todo
        super().__init__(f"there is already {'an' if noun[0] in 'aeiou' else 'a'} {noun} {identifier}")


class NotPossible(Exception):
    """The write would break a rule of the data. `field` says which part of the request to change."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


class HasGuests(Exception):
    """The reservation cannot be deleted: it has guests on its servers (docs/designs/0061)."""

    def __init__(self, name: str, guests: Sequence[str]) -> None:
        self.guests = tuple(guests)
        super().__init__(f"{name} {has_guests(self.guests)}.")


def is_stale(error: Exception) -> bool:
    """Return whether a loop that meets this error should read its input again and decide again.

    True for a row that changed, for a row that another writer created first, and for a decision that does not hold any
    more. True also for a reservation that was deleted: the next snapshot lacks it. Any other missing row is an error.
    """
    if isinstance(error, NotFound):
        return error.noun == "reservation"
    return isinstance(error, StaleGeneration | AlreadyExists | Overtaken)
