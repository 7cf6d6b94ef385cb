"""Convert the fields of a spec from plain values, and refuse wrong ones.

A word becomes a member of an enum, and a number a Limit. Names become a Filter, and a column becomes a list.
"""

from __future__ import annotations

import collections.abc
import math
import typing
from enum import Enum
from typing import Any, TypeVar

import numpy as np

from libs.assignment.language.columns import is_column, is_labelled, labelled, listed
from libs.assignment.language.errors import BadValues, UnknownName

NUMBERS = (int, float, np.integer, np.floating)
E = TypeVar("E", bound=Enum)


def member_of(kind: type[E], given: object, where: str) -> E:
    """Return a member of the enum `kind`. `given` is the member or its name.

    Raises: UnknownName with the nearest name.
    """
    if isinstance(given, kind):
        return given
    if isinstance(given, Enum) or not isinstance(given, str) or given not in kind.__members__:
        raise UnknownName(where, kind.__name__, str(given), kind.__members__)
    return kind[given]


def from_plain(of: type, where: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with plain values converted to members, limits, filters and lists."""
    kinds, hints = _kinds(of), _hints(of)
    return {name: _from_plain(kinds.get(name), hints.get(name), f"{where}: {name}", one) for name, one in given.items()}


def check_fields(of: Any, where: str) -> None:
    """Raise an error for the first field with a value of a wrong type. Fields of other types are checked at
    their use.
    """
    for name, kind in _kinds(type(of)).items():
        value, at = getattr(of, name), f"{where}: {name}"
        if issubclass(kind, Enum):
            member_of(kind, value, at)
        elif kind is float:
            if isinstance(value, bool) or not isinstance(value, NUMBERS) or not math.isfinite(value):
                raise BadValues(f"{at} = {value!r}; expected a finite number")
        elif kind is int:
            if isinstance(value, bool) or not isinstance(value, int | np.integer):
                raise BadValues(f"{at} = {value!r}; expected a whole number")
        elif not isinstance(value, kind):
            numbered = isinstance(value, NUMBERS) and "default" in getattr(kind, "__dataclass_fields__", {})
            hint = f", such as {kind.__name__}(default={value!r})" if numbered else ""
            raise BadValues(f"{at} = {value!r}; expected {kind.__name__}{hint}")


def _from_plain(kind: type | None, hint: object, where: str, given: Any) -> Any:
    if kind is not None:
        if issubclass(kind, Enum):
            return member_of(kind, given, where)
        make = getattr(kind, "from_plain", None)
        return given if make is None or isinstance(given, kind) else make(where, given)
    if is_column(given):
        return labelled(where, given) if is_labelled(given) and _takes_mapping(hint) else listed(given)
    return [given] if isinstance(given, str) and _takes_sequence(hint) else given


def _takes_mapping(hint: object) -> bool:
    return any(typing.get_origin(one) is collections.abc.Mapping for one in (hint, *typing.get_args(hint)))


def _takes_sequence(hint: object) -> bool:
    """Return whether a field takes a sequence but no single string."""
    one_of = (hint, *typing.get_args(hint)) if typing.get_origin(hint) is not collections.abc.Sequence else (hint,)
    return str not in one_of and any(typing.get_origin(one) is collections.abc.Sequence for one in one_of)


def _hints(cls: type) -> dict[str, Any]:
    if cls not in _HINTS:
        _HINTS[cls] = typing.get_type_hints(cls)
    return _HINTS[cls]


def _kinds(cls: type) -> dict[str, type]:
    """Return the fields whose type is one class."""
    hints = _hints(cls)
    return {name: kind for name, kind in hints.items() if isinstance(kind, type) and not typing.get_origin(kind)}


_HINTS: dict[type, dict[str, Any]] = {}
