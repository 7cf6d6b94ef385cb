"""Combine two estimates of a thin service's shares: its traces, and its usage. A thin service has so few spans that its
traced shares are uncertain. The estimate with the smaller error has more weight.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from libs.domain.arrays import Bools, Floats
from libs.domain.world import Observations
from libs.flux.attribution.attribution import Attribution
from libs.flux.models.baseline import UsageBaseline
from libs.flux.models.model_error import FLOOR, ModelErrors

STEPS_MAX = 20
"""Largest number of Gauss-Newton steps. The shares are STILL after three to eight steps."""
STILL = 1e-6
SPREAD_MIN = 1e-6
"""Least standard error of traces. Traces that agree in every group are still no proof."""


def weigh(
    traced: Attribution, errors: ModelErrors, own: Floats, seen: Observations, baseline: UsageBaseline, thin: Bools
) -> tuple[Floats, Floats]:
    """Return the likeliest shares of products in thin services, and the distance of these shares from the traced
    shares. A thin service has few spans, so its usage and its traffic correct the traced shares.

        minimise over a >= 0   sum_p ((a[p] - share[p]) / spread[p])^2
                             + worth * sum_rm (own[r,m] - f[r] sum_p a[p] z[p,r,m])^2 / noise^2

    share, spread  (S, P)  traced shares and their standard errors by the jackknife; a product without traces keeps
                           share 0
    z              (P, R, M)  traffic divided by that of the peak window
    f              (R,)    free factor per region: the level of a region's usage says nothing about products
    noise          root mean square of the usage that the shape leaves unexplained, from `errors`
    worth          independent samples per sample, from `errors`; persistent errors lower it

    thin           (S,) bool  services to correct; all other services keep their traced shares

    Return (S, P) shares, which sum to 1, and the (S,) first sum of the objective at the minimum.
    Source: our own, docs/adr/0027; f is eliminated by variable projection (Golub and Pereyra, 1973).
    """
    share, strain = traced.share.copy(), np.zeros(len(traced.share))
    traffic = np.nan_to_num(seen.traffic)
    for s in np.flatnonzero(thin):
        shown = share[s] > 0
        if shown.sum() < 2 or not (baseline.traffic_at[s, shown] > 0).all():
            continue
        reported = ~np.isnan(own[s])
        used = np.where(reported, own[s], 0.0)
        z = traffic[shown] / baseline.traffic_at[s, shown, None, None] * reported
        mean = used.sum() / max(1, int(reported.sum()))
        if mean <= 0:
            continue
        noise = max(float(errors.shape[s]), FLOOR) * mean
        worth = float(errors.samples[s]) / reported.shape[1]
        found, strain[s] = _likeliest(
            share[s, shown],
            np.maximum(traced.spread[s, shown], SPREAD_MIN) ** -2,
            np.einsum("prm,qrm->rpq", z, z, optimize=True) * (worth / noise**2),
            np.einsum("prm,rm->rp", z, used) * (worth / noise**2),
        )
        share[s, shown] = found / found.sum()
    return share, strain


def _likeliest(start: Floats, sure: Floats, gram: Floats, seen: Floats) -> tuple[Floats, float]:
    """Return the (Q,) weights a at the minimum of `weigh`'s objective, by Gauss-Newton, and the first sum at the
    minimum.

    start  (Q,)       shares by the traces
    sure   (Q,)       1 / variance of these shares
    gram   (R, Q, Q)  sum over samples of z[q] * z[q'], in units of the noise
    seen   (R, Q)     sum over samples of z[q] * usage, in units of the noise
    """
    a = start.copy()
    for _ in range(STEPS_MAX):
        toward = gram @ a
        norm = toward @ a
        reached = norm > 0
        f = np.divide(seen @ a, norm, out=np.zeros_like(norm), where=reached)
        along = np.divide(toward, np.sqrt(norm)[:, None], out=np.zeros_like(toward), where=reached[:, None])
        curve = np.einsum("r,rpq->pq", f**2, gram) - np.einsum("r,rp,rq->pq", f**2, along, along)
        slope = (f[:, None] * (f[:, None] * toward - seen)).sum(0)
        factor = np.linalg.cholesky(curve + np.diag(sure))
        step = curve @ a - slope + sure * start
        new = nnls(factor.T, np.linalg.solve(factor, step))[0]
        if not new.any():  # the usage contradicts all traced products
            break
        moved = 0.5 * np.abs(new - a).sum()
        a = new
        if moved < STILL:
            break
    return a, float(((a - start) ** 2 * sure).sum())
