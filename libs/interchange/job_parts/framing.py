"""Numbers and one-dimensional arrays as bytes: a line of JSON, and then the arrays one after the other.

A reader checks every length, and never runs code that the bytes contain.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from libs.interchange.files.bounds import parse_json

BYTES_MAX = 64 << 20
"""Largest size of a content or an answer."""
_HEADER_BYTES_MAX = 64 << 10
Array = NDArray[Any]


class NotReadable(ValueError):
    """The bytes are damaged, of another form, or of another version of Plimsoll."""


def pack(form: str, numbers: Mapping[str, float | int | bool | None], arrays: Mapping[str, Array]) -> bytes:
    """Return the bytes of `numbers` and `arrays`, marked with the name of their form and this version of Plimsoll."""
    header = {
        "form": form,
        "version": _version(),
        "numbers": dict(numbers),
        "arrays": {name: [one.dtype.str, len(one)] for name, one in arrays.items()},
    }
    plain = [np.ascontiguousarray(one).astype(one.dtype.newbyteorder("<"), copy=False) for one in arrays.values()]
    return b"".join([json.dumps(header).encode(), b"\n", *(one.tobytes() for one in plain)])


def unpack(content: bytes, form: str, arrays: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the numbers and arrays of `content`. Raises NotReadable.

    arrays   name -> type of each array that the form has, as NumPy writes it, such as "<f8"
    """
    if len(content) > BYTES_MAX:
        raise NotReadable(f"it has {len(content) >> 20} MiB; at most {BYTES_MAX >> 20} are allowed")
    line = content[:_HEADER_BYTES_MAX].partition(b"\n")[0]
    try:
        header = parse_json(line)
        found = header["form"], header["version"]
        numbers, shapes = dict(header["numbers"]), dict(header["arrays"])
        typed = {name: (str(kind), int(length)) for name, (kind, length) in shapes.items()}
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise NotReadable(f"it has no header: {type(error).__name__}") from error
    if found != (form, _version()):
        raise NotReadable(f"it is {found[0]} of version {found[1]}; expected {form} of {_version()}")
    if {name: kind for name, (kind, _) in typed.items()} != dict(arrays):
        raise NotReadable(f"it has the arrays {', '.join(sorted(typed))}; expected {', '.join(sorted(arrays))}")
    at, read = len(line) + 1, {}
    sizes = [np.dtype(kind).itemsize * length for kind, length in typed.values()]
    if min(sizes, default=0) < 0 or at + sum(sizes) != len(content):
        raise NotReadable(f"its arrays have {len(content) - at} bytes; expected {sum(sizes)}")
    for name, (kind, length) in typed.items():
        read[name] = np.frombuffer(content, kind, length, at).copy()
        at += read[name].nbytes
    return numbers, read


@cache
def _version() -> str:
    return version("plimsoll")
