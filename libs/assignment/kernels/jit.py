"""Compile functions with numba, and cache them if possible."""

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
"""All compiled functions of the loaded modules."""


def sources_of(source: Path) -> list[Path]:
    """Return a file and all project files that it imports at its top, directly or indirectly, sorted.

    The kernels of the file are compiled from these sources.
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
    """Return a hash of all sources of a file's kernels. numba alone would reuse a caller after a change of its callee.

    Only imports count, so a change elsewhere recompiles nothing.
    """
    sources = sources_of(source)
    return hashlib.blake2b(b"".join(file.read_bytes() for file in sources)).hexdigest(), len(sources)


_INTERNAL: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Compile without an entry point for Python."""


def compiled(function: F) -> F:
    """Compile the function at its first call, without the interpreter lock, and cache it for later processes.

    The cache lies beside the source, or in the user's cache folder if the source's is read-only. If neither is
    writable, every process compiles for itself. A cached function is used until its stamp changes. See docs/adr/0015.
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
    """Inline a function into the compiled functions that call it.

    A call passes 42 numbers, which costs more than most small functions do.
    """
    return cast(F, numba.njit(nogil=True, error_model="numpy", forceinline=True, **_INTERNAL)(function))


def callee(function: F) -> F:
    """Compile a function that only compiled functions call, once for all callers. Use it for large functions and for
    functions with many callers; for others use `part`.
    """
    return cast(F, numba.njit(nogil=True, error_model="numpy", **_INTERNAL)(function))
