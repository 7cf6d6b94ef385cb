"""The fields that a change alters, as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from libs.domain.departure_exceptions import below_what
from services.pages.parts.words import count, duration, number, spaced

Row = tuple[str, str, str]
"""A changed field: name, before, after."""


def rows_of(kind: str, before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> list[Row]:
    """Return what an approval of this kind would change."""
    return _below_hold(after) if kind == "below_hold" else changes(before, after)


def _below_hold(asked: Mapping[str, Any]) -> list[Row]:
    """Return for each reservation what it is promised, and what it holds at least while its servers leave."""
    found = [
        ("Servers that leave below promises", "wait", f"{number(asked['servers'])} may leave"),
        ("Time in which they may begin", "–", f"{duration(asked['window_s'])} from the approval"),
    ]
    for one in asked["reservations"]:
        leave = f"{count(one['servers'], 'server')} may leave"
        promised = one.get("promised_rru")  # older approvals have none
        if not one["below_rru"]:
            found.append((one["reservation"], "holds its promise", f"holds its promise; {leave} after others"))
            continue
        least, was = f"{number(one['below_rru'])} RRU below its promise", "–"
        if promised is not None:
            asked_rru = one.get("asked_rru", promised)
            rru, what = below_what(one["below_rru"], asked_rru=asked_rru, granted_rru=promised)
            least = f"at least {number(max(0.0, asked_rru - one['below_rru']))} RRU, {number(rru)} RRU below {what},"
            was = f"{number(promised)}{f' of {number(asked_rru)}' if promised < asked_rru else ''} RRU promised"
        found.append((one["reservation"], was, f"{least} for about {duration(max(60.0, one['seconds']))}; {leave}"))
    return found


def changes(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[Row]:
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
