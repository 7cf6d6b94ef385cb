"""Where spans are few: what traces say of a service and what its use says, weighed by how sure each of them is."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from libs.domain.fleet import Bools, Floats
from libs.domain.world import Observations
from libs.flux.attribution import Attribution
from libs.flux.baseline import UsageBaseline
from libs.flux.model_error import FLOOR, ModelErrors

STEPS_MAX = 20
"""Gauss-Newton steps; a service's shares move by less than STILL after three to eight."""
STILL = 1e-6
SPREAD_MIN = 1e-6
"""Traces in which every group says the same are still no proof."""


def weigh(
    traced: Attribution, errors: ModelErrors, own: Floats, seen: Observations, baseline: UsageBaseline, thin: Bools
) -> tuple[Floats, Floats]:
    """The likeliest shares of thin services by their traces and the shape of their use, and how far traces gave way.

        minimise over a >= 0   sum_p ((a[p] - share[p]) / spread[p])^2
                             + worth * sum_rm (own[r,m] - f[r] sum_p a[p] z[p,r,m])^2 / noise^2

    share, spread  (S, P)  of the traces, with the jackknife's standard errors; what no trace shows stays out
    z              (P, R, M)  traffic over that of the peak window
    f              (R,)    free: what a region uses for reasons of its own says nothing about products
    noise          root mean square of what the shape leaves unexplained, and
    worth          independent samples per sample, both by `errors`: use that a model misses persistently counts little

    Returns (S, P) shares, which sum to 1, and (S,) the first sum where the minimum is. Other services keep what they
    have. Source: our own, docs/adr/0027; f is eliminated by variable projection (Golub and Pereyra, 1973).
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
    """The minimum by Gauss-Newton, and the strain on the traces there.

    start  (Q,)       what traces say
    sure   (Q,)       1 / variance of that
    gram   (R, Q, Q)  products of the products' traffic with each other, in units of the noise
    seen   (R, Q)     products of it with the use
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
        if not new.any():  # the use denies all that traces show
            break
        moved = 0.5 * np.abs(new - a).sum()
        a = new
        if moved < STILL:
            break
    return a, float(((a - start) ** 2 * sure).sum())
