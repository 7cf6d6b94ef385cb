"""Compiled functions of this package, kept until one of its files changes."""

from __future__ import annotations

from pathlib import Path

from libs.assignment.search import jit

STAMP = jit.stamp_of(Path(__file__).parent)
part = jit.part


def compiled(function: jit.F) -> jit.F:
    """As for local search; see docs/adr/0015."""
    return jit.compiled(function, STAMP)
