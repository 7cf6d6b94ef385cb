"""Arrays that nobody counts the holders of: numba counts at every call, with atomic instructions, array by array,
which costs a kernel more than its work.
"""

from __future__ import annotations

from typing import Any

from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from libs.assignment.search.jit import part
from libs.assignment.search.tables import State, Tables


def _lend(typing: Any, array: Any) -> Any:
    """The same array, without an owner: whoever calls must keep it alive."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        lent = arrays(signature.args[0])(context, builder, given[0])
        lent.meminfo = lent.meminfo.type(None)
        lent.parent = lent.parent.type(None)
        return lent._getvalue()

    return array(array), generate


arrays: Any = make_array
lend: Any = intrinsic(_lend)


@part
def borrow_tables(g: Tables) -> Tables:
    """The same arrays, for as long as the caller's live."""
    return Tables(lend(g.node), lend(g.real), lend(g.lookup), lend(g.number))


@part
def borrow_state(s: State) -> State:
    """The same arrays, for as long as the caller's live."""
    return State(lend(s.whole), lend(s.part))
