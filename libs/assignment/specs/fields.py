"""Whether the fields of a spec hold what they say: an enum a member, a number a finite number."""

from __future__ import annotations

import math
import typing
from enum import Enum
from typing import Any

import numpy as np

from libs.assignment.errors import BadValues, UnknownName

NUMBERS = (int, float, np.integer, np.floating)


def check_fields(of: Any, where: str) -> None:
    """Raise for the first field that does not. Fields of other types check themselves where they are used."""
    for name, kind in _kinds(type(of)).items():
        value, at = getattr(of, name), f"{where}: {name}"
        if issubclass(kind, Enum):
            if not isinstance(value, kind):
                raise UnknownName(at, kind.__name__, str(value), [f"{kind.__name__}.{one}" for one in kind.__members__])
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


def _kinds(cls: type) -> dict[str, type]:
    """Fields whose type is one class."""
    if cls not in _KNOWN:
        hints = typing.get_type_hints(cls)
        alone = {name: kind for name, kind in hints.items() if isinstance(kind, type) and not typing.get_origin(kind)}
        _KNOWN[cls] = alone
    return _KNOWN[cls]


_KNOWN: dict[type, dict[str, type]] = {}
