"""Read a window of measurements for a model, as arrays in the order of a vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from libs.domain.telemetry import Telemetry
from libs.domain.world import Observations, Vocabulary
from libs.store.platform.database import Transaction
from libs.store.telemetry.measures import HOUR_MINUTES, TRAFFIC, USAGE, Block, Measure, load_blocks, load_series
from libs.store.telemetry.span_sums import load_demand

BYTES_MAX = 1 << 30
"""Largest array of one measure, in bytes. If the array would be larger, its samples are means of several minutes."""
STEPS_MINUTES = (1, 2, 3, 5, 10, 15, 20, 30, 60)
DAY_HOURS = 24


def load_telemetry(tx: Transaction, words: Vocabulary, *, start: datetime, end: datetime) -> Telemetry:
    """Return the measurements from `start`, a midnight, until before `end`. Minutes count from `start`.

    Samples are a minute apart if that fits into BYTES_MAX. Else each sample is the mean of the reported values of
    several minutes. Samples without any reported value are left out. The sums of traces are of whole days.
    """
    first_hour, hours = _hours(start, end)
    K, P, R = len(words.placement_service), len(words.products), len(words.regions)
    step = _step_minutes(max(K, P) * R, hours)
    usage, unknown_usage = _load(tx, USAGE, _placements(words), R, K, first_hour, hours, step)
    traffic, unknown_traffic = _load(tx, TRAFFIC, _products(words), R, P, first_hour, hours, step)
    reported = np.asarray(~(np.isnan(usage).all(0) & np.isnan(traffic).all(0)))
    reported[-(-int((end - start).total_seconds()) // (60 * step)) :] = False
    minute = np.flatnonzero(reported) * step
    demand, unknown_demand = load_demand(tx, words, start.date(), (end - timedelta(microseconds=1)).date())
    return Telemetry(
        observations=Observations(
            minute=minute.astype(np.int64),
            usage=_only(usage, reported).reshape(K, R, len(minute)),
            traffic=_only(traffic, reported).reshape(P, R, len(minute)),
        ),
        demand=demand,
        unknown={"usage": unknown_usage, "traffic": unknown_traffic, "demand": unknown_demand},
    )


def _hours(start: datetime, end: datetime) -> tuple[int, int]:
    first_s, end_s = start.timestamp(), end.timestamp()
    if first_s % (DAY_HOURS * 3600) or end_s <= first_s:
        raise ValueError("a window must begin at a midnight UTC and end after it")
    return int(first_s // 3600), int(-(-(end_s - first_s) // 3600))


def _step_minutes(series: int, hours: int) -> int:
    fits = (step for step in STEPS_MINUTES if series * hours * HOUR_MINUTES // step * 8 <= BYTES_MAX)
    return next(fits, STEPS_MINUTES[-1])


def _load(
    tx: Transaction,
    measure: Measure,
    rows: Mapping[tuple[str, ...], int],
    regions: int,
    count: int,
    first_hour: int,
    hours: int,
    step: int,
) -> tuple[NDArray[np.float64], int]:
    """Return (count * regions, samples) values in the order of `rows`, and the number of stored series that `rows`
    lacks.

    It reads a day at a time, to bound the memory beyond the result.
    """
    ids, names = load_series(tx, measure)
    cells = np.array([rows.get(name, -1) for name in names], np.int64)
    per_hour = HOUR_MINUTES // step
    found = np.full((count * regions, hours, per_hour), np.nan)
    for hour in range(0, hours, DAY_HOURS):
        end = min(hour + DAY_HOURS, hours)
        at, key, block = load_blocks(tx, measure, first_hour + hour, first_hour + end)
        cell = cells[np.searchsorted(ids, key)]
        known = cell >= 0
        found[cell[known], at[known] - first_hour] = _coarser(block[known], step)
    return found.reshape(count * regions, hours * per_hour), int((cells < 0).sum())


def _coarser(block: Block, step: int) -> NDArray[np.floating]:
    """Return (U, 60 / step) means of the reported values; nan where there are none."""
    if step == 1:
        return block
    parts = block.reshape(len(block), HOUR_MINUTES // step, step)
    reported = ~np.isnan(parts)
    count = reported.sum(2)
    total = np.where(reported, parts, 0).sum(2, dtype=np.float64)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _only(values: NDArray[np.float64], reported: NDArray[np.bool_]) -> NDArray[np.float64]:
    return values if reported.all() else np.ascontiguousarray(values[:, reported])


def _placements(words: Vocabulary) -> dict[tuple[str, ...], int]:
    """Return (service, region, hardware type) -> row, by placement, then by region."""
    R = len(words.regions)
    return {
        (str(words.services[s]), str(region), str(words.hardware_types[h])): k * R + r
        for k, (s, h) in enumerate(zip(words.placement_service, words.placement_type, strict=True))
        for r, region in enumerate(words.regions)
    }


def _products(words: Vocabulary) -> dict[tuple[str, ...], int]:
    R = len(words.regions)
    return {
        (str(product), str(region)): p * R + r
        for p, product in enumerate(words.products)
        for r, region in enumerate(words.regions)
    }
