"""Read columns of callers: lists, NumPy, Arrow, pandas and polars.

A column of another library is recognised by its methods, so pandas and polars are no dependencies.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from libs.assignment.language.errors import BadValues, shown


def is_column(given: object) -> bool:
    """Return whether this is a column of Arrow, pandas or polars."""
    return not isinstance(given, np.ndarray) and (hasattr(given, "to_numpy") or hasattr(given, "__arrow_array__"))


def is_labelled(given: object) -> bool:
    """Return whether a column has labels of its own: a mapping, or a pandas Series with its index."""
    index = getattr(given, "index", None)
    return isinstance(given, Mapping) or (is_column(given) and index is not None and not callable(index))


def labelled(where: str, given: Any) -> dict[Any, Any]:
    """Return the values of a labelled column by label. Raises BadValues if two values have the same label."""
    if isinstance(given, Mapping):
        return {_plain(label): value for label, value in given.items()}
    labels, values = listed(given.index), listed(given)
    found = dict(zip(labels, values, strict=True))
    if len(found) < len(labels):
        twice = [label for label, times in Counter(labels).items() if times > 1]
        raise BadValues(f"{where}: the index has names that occur twice: {shown(twice)}")
    return found


def listed(given: Any) -> list[Any]:
    """Return the values as a list of Python values; a null becomes None."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, np.ndarray) and is_column(given):
        for convert in ("to_pylist", "to_list", "tolist"):  # Arrow, polars and pandas, pandas.Index
            if hasattr(given, convert):
                return [_null(value) for value in getattr(given, convert)()]
        given = given.to_numpy() if hasattr(given, "to_numpy") else given.__arrow_array__().to_pylist()
    if isinstance(given, np.ndarray):
        return [_null(value) for value in given.tolist()]
    return [_plain(value) for value in given]


def dense(given: Any) -> Any:
    """Return an array for a column of numbers without nulls, else a list."""
    if hasattr(given, "__array__"):
        array = np.asarray(given)
        if array.dtype.kind in "iub" or (array.dtype.kind == "f" and not np.isnan(array).any()):
            return array
    return listed(given)


def _null(value: Any) -> Any:
    """Return None for a null of pandas (NA, NaT or NaN), else the value."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    return None if isinstance(value, float) and math.isnan(value) else value


def _plain(value: Any) -> Any:
    """Return the Python value of a NumPy or Arrow scalar."""
    if hasattr(value, "as_py"):
        return value.as_py()
    return value.item() if isinstance(value, np.generic) else value
