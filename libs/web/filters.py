"""Refuse filters of lists by names that do not exist: a misspelt name must not look like an empty list."""

from __future__ import annotations

from collections.abc import Sized

from libs.store.fleet.filtered_names import Filtered, is_known, names_near
from libs.store.platform.database import Transaction
from libs.web.names import COMPARED_MAX, slips, unknown_name
from libs.web.problems import FieldError, invalid

_NOUNS: dict[str, Filtered] = {
    "reservation": "live reservation",
    "current_reservation": "live reservation",
    "target_reservation": "live reservation",
    "server": "server",
    "msb": "MSB",
    "rack": "rack",
    "hardware_type": "hardware type",
}
"""Filter -> the noun that it names. Filters by a name of something past, such as a request's, do not belong here."""


def require_known(tx: Transaction, found: Sized, region: str | None, **filters: str | None) -> None:
    """Raise Problem (422) with the nearest names if nothing was found, and a filter names something that is not there.

    found    the items of a list, if they are read already. If there are any, the names exist, and this reads nothing
    region   of this region only
    filters  filter -> the name given; None: not given
    """
    if found:
        return
    given = {field: name for field, name in filters.items() if name is not None}
    unknown = {field: name for field, name in given.items() if not is_known(tx, _NOUNS[field], name, region)}
    if unknown:
        raise invalid(*(_unknown(tx, field, name, region) for field, name in unknown.items()))


def _unknown(tx: Transaction, field: str, name: str, region: str | None) -> FieldError:
    noun = _NOUNS[field]
    near, total = names_near(tx, noun, name, region, others=slips(name), most=COMPARED_MAX)
    return unknown_name(field, noun, name, near, location="query", total=total)
