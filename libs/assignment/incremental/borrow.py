"""Lend tables and states to a kernel, so that numba does not count their references: see lend.py."""

from __future__ import annotations

from libs.assignment.incremental.tables import State, Tables
from libs.assignment.kernels.jit import part
from libs.assignment.kernels.lend import lend


@part
def borrow_tables(g: Tables) -> Tables:
    """Return the same arrays without their owners. They are valid while the arrays of the caller exist."""
    return Tables(lend(g.node), lend(g.real), lend(g.lookup), lend(g.number))


@part
def borrow_state(s: State) -> State:
    """Return the same arrays without their owners. They are valid while the arrays of the caller exist."""
    return State(lend(s.whole), lend(s.part))
