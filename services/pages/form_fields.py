"""Read the fields of a form. A field that cannot be read names itself."""

from __future__ import annotations

from collections.abc import Mapping


class WrongField(Exception):
    """A field of the form cannot be read."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field, self.message = field, message


def read_number(form: Mapping[str, str], field: str, *, needed: bool = False) -> float | None:
    """Return the number of a field; None if it is empty. Raises WrongField."""
    text = form.get(field, "").strip()
    if not text:
        if needed:
            raise WrongField(field, "is required")
        return None
    try:
        return float(text)
    except ValueError as error:
        raise WrongField(field, f"must be a number, not {text[:40]}") from error
