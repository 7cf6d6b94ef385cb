"""Restrict expressions to a part of a problem.

The restricted expression has the objects and containers of the part, and its share of elements that several parts can
change. An element is one value of an expression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.errors import ModelError
from libs.assignment.language.expressions.elementwise import Elementwise
from libs.assignment.language.expressions.expression import DENSE_MAX, Constant, Expression, Sum, Term
from libs.assignment.language.expressions.lookup import Lookup
from libs.assignment.language.expressions.max import Max, Over
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.expressions.step import Step
from libs.assignment.language.matrices import Matrix, csr
from libs.assignment.solvers.partitioned.apportion import apportion, by_holding, holds_most
from libs.assignment.solvers.partitioned.limit_shares import Shares
from libs.assignment.solvers.partitioned.part import Part
from libs.assignment.solvers.partitioned.part_views import Views
from libs.assignment.solvers.partitioned.row_values import value_at_rows

Restricted = Expression | None
"""An expression restricted to a part; None: the part cannot change the expression."""


class Restriction:
    """Every expression of a problem, restricted to every part.

    Let x be an element that several parts can change, and x_p the same element in the problem of part p. x(0) and
    x_p(0) are their values at the start. w_p is the share of part p, from `Shares`:

        PositivePart   x_p = own change + divided x(0)      sum_p x_p = x, so sum_p max(0, x_p) >= max(0, x): if no
                                                            part breaks a limit, the whole holds it
        Step           x_p = own utilisation                for the part that holds most of an element, and for empty
                                                            elements; other parts see it occupied
        other f        w_p f(x_p / w_p), by row             never below f(x) in total for convex f; if a row belongs to
                                                            one part in some columns, x_p = own change + x(0)
        Max            over the part's own rows or columns

    An element that a single part can change is the same as in the whole problem. Nothing here depends on specs: a new
    spec is divided by its expressions. Source: POP, 3.3 (client and resource splitting), for limits of any kind.
    """

    def __init__(self, parts: Sequence[Part], initial: Ints, containers: int) -> None:
        self.parts, self.initial = parts, initial
        self.shares = Shares(parts, len(initial), containers)
        self.starts = [np.searchsorted(part.containers, initial[part.objects]) for part in parts]
        self._known: dict[int, list[Restricted]] = {}
        self.views = Views(parts)
        self._kept: list[object] = []

    def of(self, expression: Expression) -> list[Restricted]:
        """Return `expression` restricted to each part, (P,). Equal calls return the same objects."""
        if id(expression) not in self._known:
            self._kept.append(expression)  # an id is unique only while the expression lives
            self._known[id(expression)] = self._find(expression)
        return self._known[id(expression)]

    def _find(self, expression: Expression) -> list[Restricted]:
        every = range(len(self.parts))
        if isinstance(expression, Lookup):
            return [self._lookup(expression, part) for part in every]
        if isinstance(expression, Sum):
            return [self._sum(expression, part) for part in every]
        if isinstance(expression, Elementwise):
            return self._elementwise(expression)
        if isinstance(expression, Max):
            return [self._max(expression, part, child) for part, child in enumerate(self.of(expression.child))]
        return [None for _ in every]

    def _lookup(self, lookup: Lookup, part: int) -> Restricted:
        rows, columns = self.shares.of(lookup).kept(part)
        if not len(rows) or not len(columns):
            return None
        return Lookup(
            scope=self.views.scope(lookup.scope, part),
            partition=None if lookup.partition is None else self.views.partition(lookup.partition, part, columns),
            dimension=self.views.dimension(lookup.dimension, part),
            flavour=lookup.flavour,
            initial=self.starts[part],
        )

    def _sum(self, expression: Sum, part: int) -> Restricted:
        rows, columns = self.shares.of(expression).kept(part)
        if not len(rows) or not len(columns):
            return None
        terms: list[Term] = []
        for term in expression.terms:
            child = self.of(term.child)[part]
            if isinstance(term.child, Constant):
                terms.append(_constant_term(term, term.child, rows, columns))
            elif child is not None:
                of_rows, of_columns = self.shares.of(term.child).kept(part)
                over = _between(term.rows, rows, of_rows, expression.shape[0])
                across = _between(term.columns, columns, of_columns, expression.shape[1])
                terms.append(Term(child, term.coefficient, over, across))
        return Sum((len(rows), len(columns)), tuple(terms))

    def _max(self, expression: Max, part: int, child: Restricted) -> Restricted:
        if child is None:
            return None
        whole, own = (
            {Over.ROWS: rows, Over.COLUMNS: columns, Over.ALL: rows * columns}[expression.over]
            for rows, columns in (expression.child.shape, child.shape)
        )
        return Max(child, expression.over, min(expression.n * own // whole, own - 1))

    def _elementwise(self, expression: Elementwise) -> list[Restricted]:
        children, shape = self.of(expression.child), expression.shape
        share = self.shares.of(expression)
        rows, columns = share.shared()
        if not len(rows) or not len(columns):
            return [None if child is None else replace(expression, child=child) for child in children]
        if len(self.parts) * len(rows) * len(columns) > DENSE_MAX:
            raise ModelError(
                f"{len(rows)} rows x {len(columns)} columns of {shape[0]} x {shape[1]} lie in several of "
                f"{len(self.parts)} parts: too many to divide; take fewer parts"
            )
        at_start = value_at_rows(expression.child, self.initial, rows)[:, columns]
        own = self._own(children, expression, rows, columns)
        if isinstance(expression, PositivePart):
            wanted = apportion(at_start, by_holding(at_start, own, share.weights(rows, columns)))
        elif isinstance(expression, Step):
            wanted = np.where(holds_most(own), own, at_start)
        elif len(columns) == shape[1]:
            return self._by_rows(expression, children, rows, at_start, own)
        else:
            wanted = np.broadcast_to(at_start, own.shape)
        made: list[Restricted] = []
        for part, child in enumerate(children):
            if child is None:
                made.append(None)
            else:
                more = self._placed(wanted[part] - own[part], expression, part, rows, columns)
                made.append(replace(expression, child=child + more))
        return made

    def _by_rows(
        self, expression: Elementwise, children: list[Restricted], rows: Ints, at_start: Floats, own: Floats
    ) -> list[Restricted]:
        """Return w f(x / w) for each part, with w the share of the part in the row.

        It is for expressions whose columns are all shared by several parts.

        rows      the rows that several parts share
        at_start  (rows, columns) the argument of the whole at the start
        own       (P, rows, columns) the argument of each part at the start
        """
        share, columns = self.shares.of(expression), np.arange(expression.shape[1])
        made: list[Restricted] = []
        for part, child in enumerate(children):
            if child is None:
                made.append(None)
                continue
            weight = share.rows[part]
            more = self._placed(weight[rows, None] * at_start - own[part], expression, part, rows, columns)
            weight = weight[share.kept(part)[0]]
            inside = (child + more).scaled(rows=1.0 / weight)
            made.append(replace(expression, child=inside).scaled(rows=weight))
        return made

    def _own(self, children: list[Restricted], expression: Elementwise, rows: Ints, columns: Ints) -> Floats:
        """Return the value of each part's child at the start, (P, rows, columns); 0 for a part without a child.

        The value of every part contains the constants in full.
        """
        own = np.zeros((len(self.parts), len(rows), len(columns)))
        for part, child in enumerate(children):
            if child is None:
                continue
            kept_rows, kept_columns = self.shares.of(expression).kept(part)
            r, c = np.isin(rows, kept_rows), np.isin(columns, kept_columns)
            value = value_at_rows(child, self.starts[part], np.searchsorted(kept_rows, rows[r]))
            own[part][np.ix_(r, c)] = value[:, np.searchsorted(kept_columns, columns[c])]
        return own

    def _placed(self, values: Floats, expression: Elementwise, part: int, rows: Ints, columns: Ints) -> Constant:
        """Return the block `values`, at the given `rows` and `columns`, as a constant in the shape of the part."""
        kept_rows, kept_columns = self.shares.of(expression).kept(part)
        r, c = np.isin(rows, kept_rows), np.isin(columns, kept_columns)
        block = sparse.coo_array(values[np.ix_(r, c)])
        at = (
            np.searchsorted(kept_rows, rows[r])[block.coords[0]],
            np.searchsorted(kept_columns, columns[c])[block.coords[1]],
        )
        shape = (len(kept_rows), len(kept_columns))
        return Constant(np.zeros(shape[0]), np.zeros(shape[1]), csr((block.data, at), shape=shape))


def _constant_term(term: Term, constant: Constant, rows: Ints, columns: Ints) -> Term:
    if term.rows is None and term.columns is None:
        pairs = None if constant.pairs is None else csr(constant.pairs[rows][:, columns])
        return Term(Constant(constant.by_row[rows], constant.by_column[columns], pairs), term.coefficient)
    every_row, every_column = np.arange(constant.shape[0]), np.arange(constant.shape[1])
    over = _between(term.rows, rows, every_row, constant.shape[0])
    return Term(constant, term.coefficient, over, _between(term.columns, columns, every_column, constant.shape[1]))


def _between(given: Matrix | None, rows: Ints, of: Ints, size: int) -> Matrix | None:
    """Return the linear map `given` cut to the rows `rows` and the columns `of`; None if the result is the identity.

    A `given` of None is the identity of size `size`.
    """
    if given is None:
        if len(rows) == len(of) and (rows == of).all():
            return None
        given = csr(sparse.eye_array(size))
    return csr(given[rows][:, of])
