"""Explain a plan: the parts of each change, and the constraint or cost that pulled the traffic behind it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats, Names
from libs.flux.program.placement import Solved
from libs.flux.program.problem import JointProblem


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Explanation:
    """The explanation of the first step. P products, R regions, H hardware types, S services.

    by_traffic    (S, P, R)  capacity that a service gains or loses in a region as a product's traffic moved or grew
    by_residual   (S, R)     change of the service's residual; by_traffic and by_residual add up to the whole change
    pull          (F, P, R)  objective per unit of a product's traffic in a region, by family of constraints, less the
                             mean over the product's regions; a negative pull attracts traffic
    pull_by       (F,)       names of the families, see FAMILIES
    hardware      (T, H, R)  objective saved per unit of supply added to a pool
    """

    by_traffic: Floats
    by_residual: Floats
    pull: Floats
    pull_by: Names
    hardware: Floats

    def pulled_by(self, product: int, region: int, moved: float) -> str:
        """Return the family that pulled most in the direction in which a product's traffic moved."""
        along = -np.sign(moved) * self.pull[:, product, region]
        return str(self.pull_by[int(np.argmax(along))])


FAMILIES = ("LargestRegion", "Hardware", "Stability", "Limits")
"""The families of constraints, by their expressions.

- LargestRegion: 3.
- Hardware: 11, 14 and 15. Supply and room for upsizes are one family, because in a tight pool the charge of each is
  large and the two nearly cancel.
- Stability: 2.
- Limits: limits of presence and capacity, moves between steps, and shares of growth.
"""


def explain(p: JointProblem, solved: Solved) -> Explanation:
    """Explain a plan by the row prices of its last linear program.

    The charge of a family of constraints to a column is the sum of its rows' prices times the column's coefficients.
    """
    joint, solution = solved.joint, solved.solution
    v, rows, matrix = joint.columns, joint.rows, joint.model.matrix
    price = solution.price if solution.price is not None else np.zeros(matrix.shape[0])
    first = v.x[0]
    P, R = first.shape

    def charge(of: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> Floats:
        kept = np.zeros(len(price))
        kept[of.ravel()] = price[of.ravel()]
        return np.asarray(-(matrix[:, first.ravel()].T @ kept).reshape(P, R))

    known = {
        "LargestRegion": charge(rows.largest),
        "Hardware": charge(rows.fits) + charge(rows.freed),
        "Stability": charge(rows.moved),
    }
    other = np.setdiff1d(
        np.arange(len(price)),
        np.concatenate([r.ravel() for r in (rows.placed, rows.largest, rows.fits, rows.freed, rows.moved)]),
    )
    whole = -(matrix[:, first.ravel()].T @ price).reshape(P, R)
    known["Limits"] = charge(other) - whole  # the charge of the column's own bounds is the difference
    pull = np.stack([known[name] for name in FAMILIES])
    moved = solved.plan.traffic[0] - p.xi
    return Explanation(
        by_traffic=p.phi[:, :, None] * moved[None],
        by_residual=solved.plan.residual[0] - p.rho[0],
        pull=pull - pull.mean(2, keepdims=True),
        pull_by=np.array(FAMILIES, object),
        hardware=-price[rows.fits],
    )
