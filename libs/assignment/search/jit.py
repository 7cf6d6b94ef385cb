"""Compiled functions: numba, cached where that can be done."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])

HERE = Path(__file__).parent


def stamp_of(*folders: Path) -> tuple[str, int]:
    """What the kernels are made of: numba by itself would reuse a caller when only what it calls has changed."""
    sources = sorted(source for folder in folders for source in folder.rglob("*.py"))
    digest = hashlib.blake2b(b"".join(source.read_bytes() for source in sources)).hexdigest()
    return digest, len(sources)


STAMP = stamp_of(HERE)

_INTERNAL: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""No entry of its own from Python."""


def compiled(function: F, stamp: tuple[str, int] | None = None) -> F:
    """The function, compiled at its first call, without the interpreter lock, and kept for later processes.

    The cache lies beside the source, or in the user's cache folder where that cannot be written; where neither
    can, every process compiles for itself. `stamp` is that of the folders that the function's parts are in, if it is
    not this one. See docs/adr/0015.
    """
    made = numba.njit(function, nogil=True, error_model="numpy")
    try:
        made.enable_caching()
    except RuntimeError:
        return cast(F, made)
    made._cache._cache_file._source_stamp = stamp or STAMP
    return cast(F, made)


def part(function: F) -> F:
    """A function that only compiled ones call, written into each of them: a call hands over 42 numbers, which costs
    more than most parts do.
    """
    return cast(F, numba.njit(nogil=True, error_model="numpy", forceinline=True, **_INTERNAL)(function))


def callee(function: F) -> F:
    """A function that only compiled ones call, but large or called from many places: it is compiled once."""
    return cast(F, numba.njit(nogil=True, error_model="numpy", **_INTERNAL)(function))
