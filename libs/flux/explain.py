"""Why a plan is as it is: what each change is made of, and which constraint or cost pulled the traffic behind it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.fleet import Floats, Names
from libs.flux.placement import Solved
from libs.flux.problem import JointProblem


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Explanation:
    """Of the first step. P products, R regions, H hardware types, S services.

    by_traffic    (S, P, R)  capacity that a service gains or loses in a region because a product's traffic moved
    by_residual   (S, R)     and because its residual changed; with by_traffic, exactly the whole change
    pull          (F, P, R)  objective per unit of a product's traffic in a region, by what charges it, less the mean
                             over the product's regions: what is below 0 attracts
    pull_by       (F,)       what charges: see FAMILIES
    hardware      (T, H, R)  objective saved per unit of supply added to a pool
    """

    by_traffic: Floats
    by_residual: Floats
    pull: Floats
    pull_by: Names
    hardware: Floats

    def pulled_by(self, product: int, region: int, moved: float) -> str:
        """What pulled most in the direction in which a product's traffic moved."""
        along = -np.sign(moved) * self.pull[:, product, region]
        return str(self.pull_by[int(np.argmax(along))])


FAMILIES = ("LargestRegion", "Hardware", "Stability", "Limits")
"""Expression 3; 11, 14 and 15; 2; limits of presence and of capacity, moves between steps, and shares of growth.

What supply and what room for upsizes charge is one family: where a pool is tight, each is large and they nearly cancel.
"""


def explain(p: JointProblem, solved: Solved) -> Explanation:
    """Read the prices of the last linear program. Every family's charge for a column is what its rows' prices take."""
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
    known["Limits"] = charge(other) - whole  # what a bound of the column itself charges makes up the difference
    pull = np.stack([known[name] for name in FAMILIES])
    moved = solved.plan.traffic[0] - p.xi
    return Explanation(
        by_traffic=p.phi[:, :, None] * moved[None],
        by_residual=solved.plan.residual[0] - p.rho,
        pull=pull - pull.mean(2, keepdims=True),
        pull_by=np.array(FAMILIES, object),
        hardware=-price[rows.fits],
    )
