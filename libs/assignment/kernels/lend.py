"""Pass arrays without reference counts, or as pointers.

numba counts references at every call, array by array, with atomic instructions. That costs a kernel more than its work.
It also passes seven numbers for each array, and looks at every index whether it counts from the end.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core.errors import TypingError
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


def _pointer(typing: Any, array: Any) -> Any:
    """Return a pointer to the first element of a contiguous array. The caller must keep the array alive.

    A call passes one number for a pointer. A pointer has no length, one dimension, and no negative indices.

    Raises TypingError when a kernel is compiled for an array that is not contiguous, or has more dimensions.
    """
    if array.layout != "C" or array.ndim != 1:
        raise TypingError(f"no pointer to {array}: it must be contiguous and of one dimension")

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return arrays(signature.args[0])(context, builder, given[0]).data

    return pointer_to(array.dtype)(array), generate


pointer_to: Any = types.CPointer
pointer: Any = intrinsic(_pointer)
