"""Convert the fields of a spec from plain values, and refuse wrong ones.

A word becomes a member of an enum, and a number a Limit. Names become a Filter, and a column becomes a list.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import math
import types
import typing
from enum import Enum
from typing import Any, TypeVar

import numpy as np

from libs.assignment.language.columns import is_column, is_labelled, labelled, listed
from libs.assignment.language.errors import BadValues, UnknownName

NUMBERS = (int, float, np.integer, np.floating)
E = TypeVar("E", bound=Enum)


def is_finite(given: object) -> bool:
    """Return whether this is a finite number. Whole numbers too large for a float are not."""
    try:
        return isinstance(given, NUMBERS) and math.isfinite(given)
    except OverflowError:
        return False


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
    """Raise an error for the first field with a value of a wrong type. Names and numbers in sequences and mappings are
    checked at their use.
    """
    for field in dataclasses.fields(of):
        _check_shape(_hints(type(of))[field.name], f"{where}: {field.name}", getattr(of, field.name))
    for name, kind in _kinds(type(of)).items():
        value, at = getattr(of, name), f"{where}: {name}"
        if issubclass(kind, Enum):
            member_of(kind, value, at)
        elif kind is float:
            if isinstance(value, bool) or not is_finite(value):
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
    if not _takes_sequence(hint) or isinstance(given, collections.abc.Mapping | np.ndarray):
        return given
    if isinstance(given, str):
        return [given]
    once = isinstance(given, collections.abc.Iterable) and not isinstance(given, collections.abc.Sequence)
    return list(given) if once else given


def _check_shape(hint: object, where: str, given: Any) -> None:
    """Refuse what is no sequence or no mapping, if the field takes only these. Refuse members of the wrong class, and
    tuples of the wrong length.
    """
    forms = _forms(hint)
    shapes = {typing.get_origin(form): form for form in forms if form is not type(None)}
    if not shapes or not shapes.keys() <= {collections.abc.Sequence, collections.abc.Mapping}:
        return
    if given is None and type(None) in forms:
        return
    if isinstance(given, collections.abc.Mapping) and collections.abc.Mapping in shapes:
        return
    is_listed = isinstance(given, collections.abc.Sequence | np.ndarray) and not isinstance(given, str)
    if not is_listed or collections.abc.Sequence not in shapes:
        names = " or ".join("a mapping" if shape is collections.abc.Mapping else "a list" for shape in shapes)
        raise BadValues(f"{where} = {given!r}; expected {names}")
    (of,) = typing.get_args(shapes[collections.abc.Sequence])
    if typing.get_origin(of) is tuple and Ellipsis not in typing.get_args(of):
        size = len(typing.get_args(of))
        wrong = [one for one in given if isinstance(one, str) or not hasattr(one, "__len__") or len(one) != size]
        expected = f"{size} values, in a tuple"
    elif isinstance(of, type) and not issubclass(of, str | int | float):
        wrong, expected = [one for one in given if not isinstance(one, of)], of.__name__
    else:
        return
    if wrong:
        raise BadValues(f"{where}: {wrong[0]!r}; expected {expected}")


def _takes_mapping(hint: object) -> bool:
    return any(typing.get_origin(one) is collections.abc.Mapping for one in _forms(hint))


def _takes_sequence(hint: object) -> bool:
    """Return whether a field takes a sequence but no single string."""
    forms = _forms(hint)
    return str not in forms and any(typing.get_origin(one) is collections.abc.Sequence for one in forms)


def _forms(hint: object) -> tuple[Any, ...]:
    """Return the members of a union, or the hint itself."""
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _hints(cls: type) -> dict[str, Any]:
    if cls not in _HINTS:
        _HINTS[cls] = typing.get_type_hints(cls)
    return _HINTS[cls]


def _kinds(cls: type) -> dict[str, type]:
    """Return the fields whose type is one class."""
    hints = _hints(cls)
    return {name: kind for name, kind in hints.items() if isinstance(kind, type) and not typing.get_origin(kind)}


_HINTS: dict[type, dict[str, Any]] = {}
