"""A subproblem of a solve and its answer, as bytes."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from libs.assignment import Answer, CountSearch, Subproblem
from libs.domain.arrays import Bytes
from libs.interchange.job_parts.framing import NotReadable, pack, unpack
from libs.mip.highs import Basis
from libs.mip.model import Model

_FORM, _ANSWER = "solve-part", "solve-part-answer"
_COLUMNS = ("cost", "lower", "upper")
_ROWS = ("row_lower", "row_upper")
_ARRAYS = {
    **dict.fromkeys((*_COLUMNS, *_ROWS, "data", "start"), "<f8"),
    **dict.fromkeys(("indices", "indptr", "loose"), "<i8"),
    "integer": "|b1",
    **dict.fromkeys(("basis_columns", "basis_rows"), "|i1"),
}
_FOUND = {**dict.fromkeys(("x", "price"), "<f8"), **dict.fromkeys(("basis_columns", "basis_rows"), "|i1")}


def write_subproblem(one: Subproblem) -> bytes:
    """Return `one` as bytes. Its end becomes the seconds that are left now."""
    model, search = one.model, one.search
    left_s = one.until - time.perf_counter()
    numbers: dict[str, float | int | bool | None] = {
        "offset": model.offset,
        "left_s": left_s if math.isfinite(left_s) else None,
        "searches": search is not None,
        "bounds": one.bounds,
        "points": one.points,
        "has_basis": one.basis is not None,
    }
    arrays = {name: getattr(model, name) for name in (*_COLUMNS, *_ROWS, "integer")}
    matrix = model.matrix
    arrays |= {
        "data": matrix.data,
        "indices": matrix.indices.astype(np.int64),
        "indptr": matrix.indptr.astype(np.int64),
        "start": np.zeros(0) if search is None else search.start,
        "loose": np.zeros(0, np.int64) if search is None else search.loose.astype(np.int64),
        **_statuses(one.basis),
    }
    if search is not None:
        numbers |= {name: getattr(search, name) for name in ("counts", "nodes_max", "absolute_gap", "seed")}
    return pack(_FORM, numbers, arrays)


def read_subproblem(content: bytes) -> Subproblem:
    """Return the subproblem of `content`; its time begins now. Raises NotReadable."""
    numbers, arrays = unpack(content, _FORM, _ARRAYS)
    columns, rows = len(arrays["cost"]), len(arrays["row_lower"])
    lengths = {name: len(arrays[name]) for name in (*_COLUMNS, "integer")}
    if set(lengths.values()) != {columns} or len(arrays["row_upper"]) != rows:
        raise NotReadable("its columns or rows are of different numbers")
    try:
        left_s = numbers["left_s"]
        return Subproblem(
            model=Model(
                **{name: arrays[name] for name in (*_COLUMNS, *_ROWS, "integer")},
                matrix=_matrix(arrays, rows, columns),
                offset=float(numbers["offset"]),
            ),
            until=math.inf if left_s is None else time.perf_counter() + float(left_s),
            search=_search(numbers, arrays, rows, columns) if numbers["searches"] else None,
            bounds=bool(numbers["bounds"]),
            points=bool(numbers["points"]),
            basis=_basis(arrays, rows, columns) if numbers["has_basis"] else None,
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise NotReadable(f"it is no subproblem: {error}") from error


def write_answer(answer: Answer) -> bytes:
    """Return `answer` as bytes."""
    bound = answer.bound if math.isfinite(answer.bound) else None
    numbers: dict[str, float | int | bool | None] = {
        "gained": answer.gained,
        "bound": bound,
        "optimal": answer.optimal,
    }
    numbers |= {f"has_{name}": getattr(answer, name) is not None for name in ("x", "price", "basis")}
    arrays = {name: np.zeros(0) if one is None else one for name, one in (("x", answer.x), ("price", answer.price))}
    return pack(_ANSWER, numbers, arrays | _statuses(answer.basis))


def read_answer(content: bytes, asked: Subproblem) -> Answer:
    """Return the answer of `content` to the subproblem `asked`. Raises NotReadable, also if it answers another one."""
    numbers, arrays = unpack(content, _ANSWER, _FOUND)
    expected = {"x": len(asked.model.cost), "price": len(asked.model.row_lower)}
    try:
        found = {name: arrays[name] if numbers[f"has_{name}"] else None for name in expected}
        for name, one in found.items():
            if one is not None and (len(one) != expected[name] or not np.isfinite(one).all()):
                raise NotReadable(f"its {name} does not fit the subproblem")
        return Answer(
            x=found["x"],
            price=found["price"],
            basis=_basis(arrays, expected["price"], expected["x"]) if numbers["has_basis"] else None,
            gained=float(numbers["gained"]),
            bound=-math.inf if (bound := numbers["bound"]) is None else float(bound),
            optimal=bool(numbers["optimal"]),
        )
    except NotReadable:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise NotReadable(f"it is no answer: {error}") from error


def _statuses(basis: Basis | None) -> dict[str, Bytes]:
    nothing = np.zeros(0, np.int8)
    columns, rows = (nothing, nothing) if basis is None else basis.statuses
    return {"basis_columns": columns, "basis_rows": rows}


def _basis(arrays: dict[str, Any], rows: int, columns: int) -> Basis:
    """Return the basis. Raises ValueError if it is of another shape: the solver would stop with an error of its own."""
    if (len(arrays["basis_columns"]), len(arrays["basis_rows"])) != (columns, rows):
        raise ValueError("its basis is of another shape")
    return Basis.of(arrays["basis_columns"], arrays["basis_rows"])


def _matrix(arrays: dict[str, Any], rows: int, columns: int) -> sp.csc_array:
    """Return the matrix. Raises ValueError if an index lies outside of it: the solver would not check."""
    indices, indptr = arrays["indices"], arrays["indptr"]
    if len(indptr) != columns + 1 or indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        raise ValueError("the columns of its matrix do not follow each other")
    if len(indices) != len(arrays["data"]) or (len(indices) and not 0 <= indices.min() <= indices.max() < rows):
        raise ValueError("an entry of its matrix lies in no row")
    return sp.csc_array((arrays["data"], indices.astype(np.int32), indptr.astype(np.int32)), shape=(rows, columns))


def _search(numbers: dict[str, Any], arrays: dict[str, Any], rows: int, columns: int) -> CountSearch:
    start, loose, counts = arrays["start"], arrays["loose"], int(numbers["counts"])
    if len(start) != columns or not 0 <= counts <= columns:
        raise ValueError("its start is not a point")
    if len(loose) and not 0 <= loose.min() <= loose.max() < rows:
        raise ValueError("it loosens a row that it does not have")
    return CountSearch(
        start=start,
        counts=counts,
        loose=loose,
        nodes_max=int(numbers["nodes_max"]),
        absolute_gap=float(numbers["absolute_gap"]),
        seed=int(numbers["seed"]),
    )
