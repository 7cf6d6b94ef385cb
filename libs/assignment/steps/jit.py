"""Compiled functions of this package, kept until one of its files changes, or one of local search's, whose parts are
written into them.
"""

from __future__ import annotations

from pathlib import Path

from libs.assignment.search import jit

HERE = Path(__file__).parent
STAMP = jit.stamp_of(HERE, jit.HERE)
part = jit.part
callee = jit.callee


def compiled(function: jit.F) -> jit.F:
    """As for local search; see docs/adr/0015."""
    return jit.compiled(function, STAMP)
