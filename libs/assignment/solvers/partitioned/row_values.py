"""Evaluate some rows of an expression whose whole value is too large."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.errors import ModelError
from libs.assignment.language.expressions.elementwise import Elementwise
from libs.assignment.language.expressions.expression import DENSE_MAX, Constant, Expression, Sum
from libs.assignment.language.expressions.lookup import Lookup
from libs.assignment.language.expressions.max import Max, Over


def value_at_rows(expression: Expression, assignment: Ints, rows: Ints) -> Floats:
    """Return the value of `expression` under `assignment` (N,), at the rows `rows` alone, (len(rows), columns).

    Raises: ModelError if the rows have more than DENSE_MAX values.
    """
    if len(rows) * expression.shape[1] > DENSE_MAX:
        raise ModelError(f"{len(rows)} rows of an expression of shape {expression.shape} are too many to write out")
    if isinstance(expression, Lookup):
        return np.asarray(expression.utilisation(assignment)[rows].toarray(), dtype=np.float64)
    if isinstance(expression, Constant):
        whole = expression.by_row[rows, None] + expression.by_column[None, :]
        return whole if expression.pairs is None else np.asarray(whole + expression.pairs[rows].toarray())
    if isinstance(expression, Sum):
        total = np.zeros((len(rows), expression.shape[1]))
        for term in expression.terms:
            if term.rows is None:
                value = value_at_rows(term.child, assignment, rows)
            else:
                over = term.rows[rows]
                used = np.unique(over.indices).astype(np.int64)
                value = over[:, used] @ value_at_rows(term.child, assignment, used)
            total += term.coefficient * (value if term.columns is None else value @ term.columns.T)
        return total
    if isinstance(expression, Elementwise):
        return expression.of(value_at_rows(expression.child, assignment, rows), expression.parameter)
    if isinstance(expression, Max) and expression.over is Over.COLUMNS:
        return expression.value_of(assignment, (value_at_rows(expression.child, assignment, rows),))
    (child,) = expression.children()
    return expression.value_of(assignment, (value_at_rows(child, assignment, np.arange(child.shape[0])),))
