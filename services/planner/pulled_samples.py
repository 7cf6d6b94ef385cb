"""Turn an answer of Prometheus into series and samples of a measure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from libs.domain.metric_source import MetricQuery
from libs.domain.telemetry import Samples
from libs.interchange.world.measurements import VALUE_MAX
from libs.store.telemetry.traced_names import is_name
from services.planner.prometheus import PrometheusError, Series


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PulledSamples:
    """Series and samples of an answer.

    left_out: number of series without a name.
    """

    series: list[tuple[str, ...]]
    samples: Samples
    left_out: int


def read_answer(query: MetricQuery, answer: Sequence[Series]) -> PulledSamples:
    """Name each series. Treat a value that is no amount (NaN, infinite, negative) as not measured.

    Raises PrometheusError if a sample is no number, or if two series of the answer have the same name: either may be
    the wrong one.
    """
    number: dict[tuple[str, ...], int] = {}
    series, minutes, values, left_out = [], [], [], 0
    for one in answer:
        names = tuple(query.constants.get(n) or one.labels.get(query.labels.get(n, ""), "") for n in query.fills.names)
        if not all(map(is_name, names)):
            left_out += 1
            continue
        if names in number:
            told = ", ".join(f"{n}={value!r}" for n, value in zip(query.fills.names, names, strict=True))
            by = ", ".join(query.labels[n] for n in query.fills.names if n in query.labels)
            raise PrometheusError(f"two series of the answer are both {told}: aggregate with sum by ({by})")
        number[names] = len(number)
        for at, text in one.samples:
            try:
                value, minute = float(text) * query.scale, int(at // 60)
            except (ValueError, OverflowError) as error:
                raise PrometheusError(f"a sample of {names} is not a number: {text!r} at {at!r}") from error
            if math.isfinite(value) and 0 <= value <= VALUE_MAX:
                series.append(len(number) - 1)
                minutes.append(minute)
                values.append(value)
    samples = Samples(
        series=np.array(series, np.int64), minute=np.array(minutes, np.int64), value=np.array(values, np.float64)
    )
    return PulledSamples(series=list(number), samples=samples, left_out=left_out)
