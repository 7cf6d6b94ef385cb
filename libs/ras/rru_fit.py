"""Fit the RRUs of a class of workload to measured throughputs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from libs.domain.arrays import Floats

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The measured throughput of one server of a type under a workload; any unit, the same for each workload."""

    hardware_type: str
    workload: str
    throughput: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedRru:
    """The RRU of a type relative to the reference type, with an interval of the confidence CONFIDENCE.

    low, high     None: a single pair of measurements has no interval
    workloads     number of workloads that were measured on both types
    measurements  number of measurements of the type under these workloads
    """

    hardware_type: str
    rru: float
    low: float | None
    high: float | None
    workloads: int
    measurements: int


def fit_rru(measurements: Sequence[Measurement], reference: str) -> list[FittedRru]:
    """Return the RRU of each type that shares a workload with the type `reference`, in order of names.

        log rru[t] = mean_w d[w,t],    d[w,t] = mean log x[w,t] - mean log x[w,reference]

    x[w,t] are the throughputs of type t under workload w; w runs over the workloads that were measured on both types.
    So the RRU is the geometric mean of ratios that are paired by workload, and each workload counts the same. The
    interval is Student's over d. With one workload, it is Welch's over the logarithms of the repeated measurements. The
    reference type has 1 and no width. Raises ValueError for a throughput that is not positive and finite, and if no
    workload was measured on `reference`.
    """
    logs = _logs(measurements)
    there = {workload for workload, name in logs if name == reference}
    if not there:
        raise ValueError(f"{reference} was not measured")
    fitted = []
    for name in sorted({name for _, name in logs}):
        shared = sorted(workload for workload, other in logs if other == name and workload in there)
        if name == reference:
            count = sum(len(logs[workload, name]) for workload in shared)
            fitted.append(_of(name, 0.0, 0.0, len(shared), count))
        elif shared:
            fitted.append(_fit_one(name, [(logs[w, name], logs[w, reference]) for w in shared]))
    return fitted


def _logs(measurements: Sequence[Measurement]) -> Mapping[tuple[str, str], Floats]:
    """Return (workload, hardware type) -> logarithms of its throughputs."""
    found: dict[tuple[str, str], list[float]] = {}
    for one in measurements:
        if not (np.isfinite(one.throughput) and one.throughput > 0):
            raise ValueError(f"throughput {one.throughput:g} of {one.hardware_type} must be positive and finite")
        found.setdefault((one.workload, one.hardware_type), []).append(float(np.log(one.throughput)))
    return {key: np.array(values) for key, values in found.items()}


def _fit_one(name: str, pairs: Sequence[tuple[Floats, Floats]]) -> FittedRru:
    """Return the RRU of a type from the logarithms of its and the reference's throughputs under each workload."""
    differences = np.array([own.mean() - other.mean() for own, other in pairs])
    count = sum(len(own) for own, _ in pairs)
    half = _half_of_pairs(differences) if len(pairs) > 1 else _half_of_samples(*pairs[0])
    return _of(name, float(differences.mean()), half, len(pairs), count)


def _half_of_pairs(differences: Floats) -> float:
    """Return half the width of Student's interval of a mean, from a sample (n,) of at least 2."""
    n = len(differences)
    return float(_quantile(n - 1.0) * differences.std(ddof=1) / np.sqrt(n))


def _half_of_samples(own: Floats, other: Floats) -> float | None:
    """Return half the width of Welch's interval of the difference of two means; None if a sample has one value."""
    if min(len(own), len(other)) < 2:
        return None
    own_error, other_error = own.var(ddof=1) / len(own), other.var(ddof=1) / len(other)
    error = own_error + other_error
    if error == 0:
        return 0.0
    freedom = error**2 / (own_error**2 / (len(own) - 1) + other_error**2 / (len(other) - 1))
    return float(_quantile(freedom) * np.sqrt(error))


def _quantile(freedom: float) -> float:
    """Return the two-sided quantile of Student's distribution."""
    return float(stdtrit(freedom, 0.5 + CONFIDENCE / 2))


def _of(name: str, log_rru: float, half: float | None, workloads: int, measurements: int) -> FittedRru:
    return FittedRru(
        hardware_type=name,
        rru=float(np.exp(log_rru)),
        low=None if half is None else float(np.exp(log_rru - half)),
        high=None if half is None else float(np.exp(log_rru + half)),
        workloads=workloads,
        measurements=measurements,
    )
