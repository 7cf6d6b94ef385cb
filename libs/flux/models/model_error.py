"""Errors of a linear model against the measured usage, over regions and over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools, Floats
from libs.domain.world import Observations
from libs.flux.models.baseline import UsageBaseline

BLOCK = 64
"""Services predicted at once. It bounds the memory of the (services, regions, samples) array of predictions."""
FLOOR = 1e-3
"""Errors below this share of the usage count as noise of the measurement."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelErrors:
    """Root mean square errors as shares of the mean usage, per service (S,).

    total    of usage less prediction, over all regions and samples
    regions  of the residual in the peak window, over regions
    shape    over samples, after each region's prediction is scaled to its usage; ignores imbalance between regions
    samples  number of independent samples per region behind the shape; below the sample count if errors persist
    """

    total: Floats
    regions: Floats
    shape: Floats
    samples: Floats


def score(errors: ModelErrors, samples: Floats) -> Floats:
    """Return the (S,) score of a model; lower is better.

        log(regions) + samples * log(shape)

    This is minus the log-likelihood of both errors as normal noise, up to constants and the number of regions. Either
    error alone misleads. Regions may be out of balance for their own reasons. Products whose traffic rises and falls
    together have the same shape in any mix.
    """
    regions, shape = np.maximum(errors.regions, FLOOR), np.maximum(errors.shape, FLOOR)
    return np.asarray(np.log(regions) + samples * np.log(shape))


def model_errors(own: Floats, seen: Observations, baseline: UsageBaseline, kappa: Floats, phi: Floats) -> ModelErrors:
    """Return the errors of the model use[s,r,m] = sum_p phi[s,p] traffic[p,r,m] / traffic_at[s,p].

    own    (S, R, M)  measured usage over all types of a service, in units of its own; nan: not reported
    kappa  (S, R)     its baseline
    phi    (S, P)     the model
    """
    S, R, M = own.shape
    traffic = np.nan_to_num(seen.traffic).reshape(len(seen.traffic), R * M)
    reached = baseline.traffic_at > 0
    per_request = np.divide(phi, baseline.traffic_at, out=np.zeros_like(phi), where=reached)
    total, shape, samples = np.zeros(S), np.zeros(S), np.zeros(S)
    for at in range(0, S, BLOCK):
        block = slice(at, at + BLOCK)
        reported = ~np.isnan(own[block])
        used = np.where(reported, own[block], 0.0)
        predicted = (per_request[block] @ traffic).reshape(used.shape) * reported
        norm = (predicted**2).sum(2)
        factor = np.divide((used * predicted).sum(2), norm, out=np.zeros_like(norm), where=norm > 0)
        total[block] = _rms(used - predicted, reported, used)
        left = used - factor[:, :, None] * predicted
        shape[block] = _rms(left, reported, used)
        samples[block] = _independent(left)
    rho = kappa - phi @ baseline.presence
    mean = kappa.mean(1)
    regions = np.divide(np.sqrt((rho**2).mean(1)), mean, out=np.zeros(S), where=mean > 0)
    return ModelErrors(total=total, regions=regions, shape=shape, samples=samples)


def _rms(error: Floats, reported: Bools, used: Floats) -> Floats:
    n = np.maximum(reported.sum((1, 2)), 1)
    mean = used.sum((1, 2)) / n
    rms = np.sqrt((error**2).sum((1, 2)) / n)
    return np.asarray(np.divide(rms, mean, out=np.zeros(len(mean)), where=mean > 0))


def _independent(error: Floats) -> Floats:
    """Return the (B,) number of independent samples that M correlated ones are worth: M (1 - c) / (1 + c).

    error  (B, R, M)
    c      correlation of neighbouring samples
    """
    square = (error**2).sum((1, 2))
    neighbours = (error[:, :, 1:] * error[:, :, :-1]).sum((1, 2))
    c = np.clip(np.divide(neighbours, square, out=np.zeros(len(error)), where=square > 0), 0.0, 0.999)
    return np.asarray(error.shape[2] * (1 - c) / (1 + c))
