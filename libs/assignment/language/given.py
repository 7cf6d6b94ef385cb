"""Read values and names from callers: by label if they have labels, else by position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from libs.assignment.language.arrays import Floats, Ints, checked_indices, checked_values
from libs.assignment.language.columns import dense, is_column, is_labelled, labelled, listed
from libs.assignment.language.errors import BadValues, shown
from libs.assignment.language.labels import Labels


def aligned(where: str, given: Any, labels: Labels) -> Any:
    """Return the values in the order of `labels`. Values without labels keep their order.

    Raises: BadValues for a missing label; UnknownName for a label that does not exist.
    """
    if not is_labelled(given):
        return dense(given) if is_column(given) else given
    values = labelled(where, given)
    at = labels.indices(where, values)
    times = np.bincount(at, minlength=len(labels))
    if (times != 1).any():
        few = (times == 0).any()
        wrong = shown(labels.name(int(k)) for k in np.flatnonzero(times == 0 if few else times > 1))
        found = f"no value for {wrong}" if few else f"several values for {wrong}"
        raise BadValues(f"{where}: {found}; a column with labels needs one value for each {labels.noun}")
    every: list[Any] = [None] * len(labels)
    for k, value in zip(at.tolist(), values.values(), strict=True):
        every[k] = value
    return every


def values_of(where: str, given: Any, labels: Labels, *, signed: bool = False) -> Floats:
    """Return (labels,) finite floats. Labelled values are matched by label. A single number counts for all labels.

    Raises: BadValues for values that are not numbers, not finite, or negative without `signed`.
    """
    column = aligned(where, given, labels)
    try:
        array = np.asarray(column)
        words = array.dtype.kind in "OUS" and any(isinstance(one, str) for one in array.ravel().tolist())
        if words or array.dtype.kind in "cmM":  # also complex numbers, and times
            raise TypeError
        numbers = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadValues(f"{where}: expected numbers, got {shown(_not_numbers(given))}") from error
    return checked_values(where, numbers, len(labels), signed=signed)


def indices_of(where: str, given: Any, of: Labels, to: Labels, *, none: bool = False) -> Ints:
    """Return the index in `to` of the item that each label in `of` has, (of,). Items are given by name or number.

    None, a null and -1 mean no item, if `none` is allowed. Raises: UnknownName with the nearest name; BadValues for
    other values.
    """
    return one_by_one(where, aligned(where, given, of), len(of), to, none=none)


def one_by_one(where: str, given: Any, length: int, to: Labels, *, none: bool = False) -> Ints:
    """Return (length,) indices in `to`. The items are given by name or number, in order."""
    column = dense(given) if is_column(given) else given
    named = isinstance(column, list | tuple) and any(one is None or isinstance(one, str) for one in column)
    array = np.array(column, dtype=object) if named else np.asarray(column)
    if array.dtype.kind not in "OUS":
        return checked_indices(where, array, length, len(to), none=none)
    if array.shape != (length,):
        raise BadValues(f"{where}: expected {length} names or indices, got an array of shape {array.shape}")
    found = [-1 if none and _is_none(one) else to.index(where, one) for one in array.tolist()]
    return np.array(found, dtype=np.int64)


def _is_none(value: object) -> bool:
    return value is None or (isinstance(value, int) and value == -1)


def _not_numbers(given: Any) -> Iterator[object]:
    values: Iterable[Any] = given.values() if isinstance(given, Mapping) else listed(given)
    return (repr(one) for one in values if isinstance(one, bool | str) or not isinstance(one, int | float))
