"""The grouped RAS model: all columns and blocks of a problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.mip.model import Indices, Mip, Model
from libs.ras.blocks.affinity import add_affinity
from libs.ras.blocks.msb_buffer import add_msb_buffer
from libs.ras.blocks.msb_spread import add_msb_spread
from libs.ras.blocks.regression import add_regression
from libs.ras.blocks.stability import add_stability
from libs.ras.blocks.supply import add_supply
from libs.ras.columns import Columns, add_columns
from libs.ras.problem import CountProblem, Counts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountModel:
    """A model with the columns and the supply rows (M*T,) that the phases read."""

    model: Model
    columns: Columns
    supply_rows: Indices

    def counts(self, x: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Counts:
        """(N,) whole counts of a point of the integer model."""
        return np.rint(x[self.columns.n]).astype(np.int64)


def build_model(problem: CountProblem) -> CountModel:
    """Expressions 1 and 3 to 7 on counts, and no regression; no racks (expression 2), as in the paper's first phase."""
    m = Mip()
    columns = add_columns(m, problem)
    supply_rows = add_supply(m, columns, problem)
    add_msb_buffer(m, columns, problem)
    add_msb_spread(m, columns, problem)
    add_stability(m, columns, problem)
    add_affinity(m, columns, problem)
    add_regression(m, columns, problem)
    return CountModel(model=m.build(), columns=columns, supply_rows=supply_rows)
