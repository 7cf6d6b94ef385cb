"""Pass arrays without reference counts.

numba counts references at every call, array by array, with atomic instructions. That costs a kernel more than its work.
"""

from __future__ import annotations

from typing import Any

from numba.extending import intrinsic
from numba.np.arrayobj import make_array


def _lend(typing: Any, array: Any) -> Any:
    """Return the array without its owner. The caller must keep the owner alive."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        lent = arrays(signature.args[0])(context, builder, given[0])
        lent.meminfo = lent.meminfo.type(None)
        lent.parent = lent.parent.type(None)
        return lent._getvalue()

    return array(array), generate


arrays: Any = make_array
lend: Any = intrinsic(_lend)
