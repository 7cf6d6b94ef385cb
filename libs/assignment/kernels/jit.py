"""Compiled functions: numba, cached where that can be done."""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])

ROOT = Path(__file__).resolve().parents[3]


KERNELS: list[Any] = []
"""Every compiled function of the modules that are loaded."""


def sources_of(source: Path) -> list[Path]:
    """Return a file and, in order, all of the project that it imports at its top, by whatever way: what its kernels can
    be made of.
    """
    found, open_ends = set[Path](), [source.resolve()]
    while open_ends:
        file = open_ends.pop()
        if file not in found:
            found.add(file)
            open_ends += _imported(file)
    return sorted(found)


@functools.cache
def _imported(file: Path) -> list[Path]:
    names: set[str] = set()
    for node in ast.parse(file.read_bytes()).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    files = (ROOT.joinpath(*name.split(".")).with_suffix(".py") for name in names)
    return [file for file in files if file.is_file()]


@functools.cache
def stamp_of(source: Path) -> tuple[str, int]:
    """What the kernels of a file are made of: numba by itself would reuse a caller when only what it calls has changed.

    Only what is imported counts, so that a change elsewhere compiles nothing again.
    """
    sources = sources_of(source)
    return hashlib.blake2b(b"".join(file.read_bytes() for file in sources)).hexdigest(), len(sources)


_INTERNAL: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""No entry of its own from Python."""


def compiled(function: F) -> F:
    """The function, compiled at its first call, without the interpreter lock, and kept for later processes.

    The cache lies beside the source, or in the user's cache folder where that cannot be written; where neither
    can, every process compiles for itself. What is kept is used until its stamp changes. See
    docs/adr/0015.
    """
    made = numba.njit(function, nogil=True, error_model="numpy")
    KERNELS.append(made)
    try:
        made.enable_caching()
    except RuntimeError:
        return cast(F, made)
    made._cache._cache_file._source_stamp = stamp_of(Path(inspect.getfile(function)))
    return cast(F, made)


def part(function: F) -> F:
    """A function that only compiled ones call, written into each of them: a call hands over 42 numbers, which costs
    more than most parts do.
    """
    return cast(F, numba.njit(nogil=True, error_model="numpy", forceinline=True, **_INTERNAL)(function))


def callee(function: F) -> F:
    """A function that only compiled ones call, but large or called from many places: it is compiled once."""
    return cast(F, numba.njit(nogil=True, error_model="numpy", **_INTERNAL)(function))
