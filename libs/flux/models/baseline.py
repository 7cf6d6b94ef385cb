"""The usage baseline: peak usage per service and region, and the traffic of the products in each region."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools, Floats
from libs.domain.world import Observations, Vocabulary
from libs.flux.models.peak_window import Windows, peak_windows, running_sums


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UsageBaseline:
    """Medians over days of the means in the daily peak window (Flux, 3.2.1).

    used            (S,) bool   True for each service that was measured
    placed          (K, R)      usage of a placement in its service's peak window
    presence        (P, R)      share of a product's traffic in the product's own peak window; a row sums to 1
    traffic_at      (S, P)      requests per second of a product, worldwide, in the service's peak window
    """

    used: Bools
    placed: Floats
    presence: Floats
    traffic_at: Floats


def measure_baseline(words: Vocabulary, seen: Observations) -> UsageBaseline:
    """Find the peak window of each service and product, and return the usage and traffic in it."""
    (K, R, M), S, P = seen.usage.shape, len(words.services), len(words.products)
    own = np.zeros((S, M))
    np.add.at(own, words.placement_service, np.nansum(seen.usage, 1) * words.placement_ratio[:, None])
    windows = peak_windows(own, seen.minute)
    usage = running_sums(seen.usage.reshape(K * R, M))
    placed = np.zeros((K, R))
    for r in range(R):  # one region at a time: K series, each with D daily windows
        rows = np.arange(K) * R + r
        of = words.placement_service
        mine = Windows(first=windows.first[of], end=windows.end[of])
        placed[:, r] = np.median(mine.means(usage, rows), 1)
    world = np.nansum(seen.traffic, 1)
    asked = running_sums(world)
    traffic_at = np.stack([np.median(windows.means(asked, np.full(S, p, np.intp)), 1) for p in range(P)], 1)
    return UsageBaseline(
        used=(~np.isnan(seen.usage[:S])).any((1, 2)) | (own.sum(1) > 0),
        placed=placed,
        presence=_presence(world, seen),
        traffic_at=traffic_at,
    )


def _presence(world: Floats, seen: Observations) -> Floats:
    P, R, M = seen.traffic.shape
    windows = peak_windows(world, seen.minute)
    by_region = running_sums(seen.traffic.reshape(P * R, M))
    found = np.stack([np.median(windows.means(by_region, np.arange(P) * R + r), 1) for r in range(R)], 1)
    total = found.sum(1, keepdims=True)
    return np.where(total > 0, found / np.where(total > 0, total, 1.0), 1.0 / R)
