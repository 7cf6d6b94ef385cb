"""The fields that a change alters, as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from services.pages.parts.words import number, spaced


def changes(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    """Return the changed fields: name, before, after. Equal fields and ids, which tell people nothing, are left out."""
    old, new = before or {}, after or {}
    found = []
    for name in sorted(filter(_tells, {*old, *new})):
        was, is_now = old.get(name), new.get(name)
        if was != is_now and not (was is None and is_now in ({}, [], None)):
            found.append((spaced(name), plain(was), plain(is_now)))
    return found


def plain(value: Any) -> str:
    """Return a value of a document in words."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {plain(part)}" for name, part in sorted(value.items()) if _tells(name)) or "none"
    if isinstance(value, list):
        return ", ".join(map(plain, value)) or "none"
    return str(value)


def _tells(name: str) -> bool:
    return name != "generation" and not name.endswith("_id")
