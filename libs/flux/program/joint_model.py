"""The joint program of capacity and traffic, with all columns and blocks (Flux, appendix A)."""

from __future__ import annotations

from dataclasses import dataclass

from libs.domain.arrays import Floats
from libs.flux.program.blocks.attribution import add_attribution, add_granted_baseline, add_limits
from libs.flux.program.blocks.pools import add_changes, add_even_spare, add_pools
from libs.flux.program.blocks.region_loss import add_region_loss
from libs.flux.program.blocks.traffic import add_oscillation, add_traffic
from libs.flux.program.capacity_terms import CapacityTerms
from libs.flux.program.columns import Columns, add_columns
from libs.flux.program.growth_terms import GrowthTerms
from libs.flux.program.problem import JointProblem
from libs.flux.program.region_loss import Guarded
from libs.mip.model import Indices, Mip, Model


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """Row indices of the constraints whose prices explain a plan.

    placed   (T, P)     expression 12
    moved    (T, P, R)  expression 2
    largest  (T, P, R)  expression 3
    fits     (T, H, R)  expression 11
    limits   (L,)       capacity limits; limit_cells has the flat (T, K, R) index of each
    freed    (T, K, R)  expression 14
    """

    placed: Indices
    moved: Indices
    largest: Indices
    fits: Indices
    limits: Indices
    limit_cells: Indices
    freed: Indices


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointModel:
    """The joint program as a model, with the indices of the columns and rows that callers read from a solution."""

    model: Model
    columns: Columns
    growth: GrowthTerms
    rows: Rows


def build_model(p: JointProblem, total: Floats, share: Floats, less: Floats, guarded: Guarded) -> JointModel:
    """Build expressions 2 to 15 for all steps.

    total, share, less  as in GrowthTerms
    guarded             as in add_region_loss
    """
    m = Mip()
    v = add_columns(m, p)
    placed, moved, largest = add_traffic(m, v, p)
    add_oscillation(m, v, p)
    c = CapacityTerms(v=v, p=p)
    add_attribution(m, v, p)
    add_granted_baseline(m, v, p)
    limits, limit_cells = add_limits(m, v, p, c)
    g = GrowthTerms(c=c, v=v, p=p, total=total, share=share, less=less)
    fits = add_pools(m, v, p, c, g)
    freed = add_changes(m, v, p, c)
    add_even_spare(m, v, p)
    add_region_loss(m, v, p, c, guarded)
    rows = Rows(
        placed=placed,
        moved=moved,
        largest=largest,
        fits=fits,
        limits=limits,
        limit_cells=limit_cells,
        freed=freed,
    )
    return JointModel(model=m.build(), columns=v, growth=g, rows=rows)
