"""Arrays that nobody counts the holders of: numba counts at every call, with atomic instructions, array by array,
which costs a kernel more than its work.
"""

from __future__ import annotations

from typing import Any

from numba.extending import intrinsic
from numba.np.arrayobj import make_array


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
