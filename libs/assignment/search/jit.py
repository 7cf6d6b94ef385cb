"""Compiled functions: numba, cached where that can be done."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])

HERE = Path(__file__).parent


KERNELS: list[Any] = []
"""Every compiled function of the modules that are loaded."""


@functools.cache
def stamp_of(folder: Path) -> tuple[str, int]:
    """What the kernels of a folder are made of, which is its own files and those of this one: numba by itself would
    reuse a caller when only what it calls has changed.
    """
    sources = sorted({*folder.rglob("*.py"), *HERE.rglob("*.py")})
    digest = hashlib.blake2b(b"".join(source.read_bytes() for source in sources)).hexdigest()
    return digest, len(sources)


_INTERNAL: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""No entry of its own from Python."""


def compiled(function: F) -> F:
    """The function, compiled at its first call, without the interpreter lock, and kept for later processes.

    The cache lies beside the source, or in the user's cache folder where that cannot be written; where neither
    can, every process compiles for itself. What is kept is used until a file that its stamp is of changes. See
    docs/adr/0015.
    """
    made = numba.njit(function, nogil=True, error_model="numpy")
    KERNELS.append(made)
    try:
        made.enable_caching()
    except RuntimeError:
        return cast(F, made)
    made._cache._cache_file._source_stamp = stamp_of(Path(inspect.getfile(function)).parent)
    return cast(F, made)


def part(function: F) -> F:
    """A function that only compiled ones call, written into each of them: a call hands over 42 numbers, which costs
    more than most parts do.
    """
    return cast(F, numba.njit(nogil=True, error_model="numpy", forceinline=True, **_INTERNAL)(function))


def callee(function: F) -> F:
    """A function that only compiled ones call, but large or called from many places: it is compiled once."""
    return cast(F, numba.njit(nogil=True, error_model="numpy", **_INTERNAL)(function))
