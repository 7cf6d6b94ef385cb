"""Utilisation against throughput: a convex, rising curve through the points of a load test (Flux, 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from libs.domain.arrays import Floats

POINTS_MIN = 5
"""Least number of different throughputs that a curve is fitted to."""
KNOTS_MAX = 4
FOLDS = 20
"""Largest number of folds in the cross-validation of a curve."""


class NoCurveError(ValueError):
    """No curve fits the points. `reason` is an identifier."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadCurve:
    """Utilisation of a unit of capacity as a function of throughput.

        u(q)  =  idle + slope q + sum_k bend[k] max(q - knot[k], 0)          idle, slope, bend >= 0

    q      requests per second and unit of capacity, up to q_max, the highest that was tested
    u      share of the capacity that is busy
    error  root mean square error on points that the curve was not fitted to, in units of u

    No coefficient is negative, so the curve rises and only bends upwards: queues make the last requests the most
    expensive.
    """

    coefficients: Floats
    knots: Floats
    q_max: float
    error: float

    def utilisation(self, throughput: Floats) -> Floats:
        """Return the utilisation at these throughputs."""
        return np.asarray(_terms(np.asarray(throughput, np.float64), self.knots) @ self.coefficients)

    def throughput(self, utilisation: float) -> float:
        """Return the highest throughput at which the utilisation is at most `utilisation`, up to the highest tested
        throughput. Raises NoCurveError.
        """
        at = np.concatenate([[0.0], self.knots, [self.q_max]])
        busy = self.utilisation(at)
        if busy[0] >= utilisation:
            raise NoCurveError("IdleAboveLimit")
        if busy[-1] <= utilisation:
            return self.q_max
        first = int(np.searchsorted(busy, utilisation))  # busy rises strictly once it is above its start
        part = (utilisation - busy[first - 1]) / (busy[first] - busy[first - 1])
        return float(at[first - 1] + part * (at[first] - at[first - 1]))


def fit_load_curve(throughput: Floats, utilisation: Floats) -> LoadCurve:
    """Fit a curve by non-negative least squares, with bends at quantiles of the throughputs. Raises NoCurveError."""
    levels = np.unique(throughput)
    if len(levels) < POINTS_MIN:
        raise NoCurveError("TooFewPoints")
    inner = min(KNOTS_MAX, (len(levels) - 2) // 2)  # each stretch between bends has points of its own
    knots = np.quantile(levels, np.linspace(0.0, 1.0, inner + 2)[1:-1])
    coefficients = _fit(throughput, utilisation, knots)
    if not coefficients[1:].any():
        raise NoCurveError("NoRise")
    order, missed = np.argsort(throughput, kind="stable"), np.empty(len(throughput))
    folds = min(FOLDS, len(throughput))
    for fold in range(folds):
        out = order[fold::folds]
        rest = np.setdiff1d(order, out)
        missed[out] = _terms(throughput[out], knots) @ _fit(throughput[rest], utilisation[rest], knots)
    error = float(np.sqrt(np.mean((missed - utilisation) ** 2)))
    return LoadCurve(coefficients=coefficients, knots=knots, q_max=float(levels[-1]), error=error)


def _terms(throughput: Floats, knots: Floats) -> Floats:
    bends = np.maximum(throughput[:, None] - knots[None], 0.0)
    return np.concatenate([np.ones((len(throughput), 1)), throughput[:, None], bends], 1)


def _fit(throughput: Floats, utilisation: Floats, knots: Floats) -> Floats:
    terms = _terms(throughput, knots)
    scale = np.maximum(np.abs(terms).max(0), 1e-300)  # throughputs may be in any unit
    return np.asarray(nnls(terms / scale, utilisation)[0] / scale)
