"""Find equal expressions, so that a cell that two specs share is stored and evaluated once."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from libs.assignment.language.expressions.elementwise import Elementwise
from libs.assignment.language.expressions.expression import Constant, Expression, Sum, Term
from libs.assignment.language.expressions.lookup import Lookup
from libs.assignment.language.expressions.max import Max
from libs.assignment.language.matrices import Matrix

Fingerprint = tuple[object, ...]


class Fingerprints:
    """Fingerprints of expressions. Two are equal if their expressions have equal arrays over the same parts of a
    problem.

    Scopes, partitions, dimensions and shared nodes are compared by identity. So an owner of a fingerprint must also
    keep the expression alive.
    """

    def __init__(self) -> None:
        self._known: dict[int, Fingerprint] = {}
        self._number: dict[Fingerprint, int] = {}

    def of(self, expression: Expression) -> Fingerprint:
        """Return the fingerprint. Each shared node is read once, and a child appears by its number."""
        if id(expression) not in self._known:
            self._known[id(expression)] = self._make(expression)
        return self._known[id(expression)]

    def _make(self, expression: Expression) -> Fingerprint:
        if isinstance(expression, Lookup):
            parts = (expression.scope, expression.partition, expression.dimension, expression.initial)
            return (Lookup, expression.flavour, *map(id, parts))
        if isinstance(expression, Constant):
            return (Constant, _digest(expression.by_row, expression.by_column), _of_map(expression.pairs))
        if isinstance(expression, Max):
            return (Max, expression.over, expression.n, self._child(expression.child))
        if isinstance(expression, Elementwise):
            return (type(expression), expression.parameter, self._child(expression.child))
        if isinstance(expression, Sum):
            return (Sum, expression.shape, *map(self._of_term, expression.terms))
        return (id(expression),)

    def _of_term(self, term: Term) -> Fingerprint:
        return self._child(term.child), term.coefficient, _of_map(term.rows), _of_map(term.columns)

    def _child(self, expression: Expression) -> int:
        return self._number.setdefault(self.of(expression), len(self._number))


def _of_map(matrix: Matrix | None) -> object:
    return None if matrix is None else (matrix.shape, _digest(matrix.data, matrix.indices, matrix.indptr))


def _digest(*arrays: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> bytes:
    whole = blake2b(digest_size=16)
    for array in arrays:
        whole.update(np.ascontiguousarray(array).tobytes())
        whole.update(b"|")
    return whole.digest()
