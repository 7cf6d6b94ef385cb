"""Cost models of owners in place of attribution: installed packages answer for their services (Flux, 3.6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import numpy as np

from libs.domain.cost_model import Measured
from libs.domain.fleet import Floats

GROUP = "plimsoll.cost_models"
"""Entry points of this group are named for the service that they model."""
CostModel = Callable[[Measured], Mapping[str, float]]
"""Told what was measured, it says which share of its service's capacity is for which product."""
SHARES_SUM_TOLERANCE = 1e-3


class CostModelError(ValueError):
    """A package's cost model failed, or its answer makes no sense."""


def installed_attributions(measured: Measured, stated: Floats | None = None) -> Floats:
    """(S, P) attributions by installed cost models; nan rows for services without one.

    stated  (S, P)  what a world's own table says: it wins, and the package is not asked; nan rows: nothing

    Entry points for services that this world lacks are left alone: a package may know more worlds than one.
    Raises: CostModelError.
    """
    found = np.full((len(measured.services), len(measured.products)), np.nan) if stated is None else stated.copy()
    row = {str(name): s for s, name in enumerate(measured.services)}
    for service, point in _by_service(entry_points(group=GROUP)).items():
        if service in row and np.isnan(found[row[service]]).any():
            found[row[service]] = _asked(point, measured)
    return found


def _by_service(points: Iterable[EntryPoint]) -> dict[str, EntryPoint]:
    """One entry point for each service; packages that are found twice on the path count once."""
    known: dict[str, EntryPoint] = {}
    for point in points:
        other = known.setdefault(point.name, point)
        if other.value != point.value or _package(other) != _package(point):
            raise CostModelError(
                f"{point.name}: two packages model it, {_package(other)} and {_package(point)}: uninstall one"
            )
    return known


def _asked(point: EntryPoint, measured: Measured) -> Floats:
    """(P,) what a model says of its service, checked."""

    def refuse(what: str) -> CostModelError:
        return CostModelError(f"{point.name}: the cost model {point.value} of {_package(point)} {what}")

    try:
        model: CostModel = point.load()
        answer: Any = model(measured)
    except Exception as error:  # whatever another package does wrong is told by its name
        raise refuse(f"failed: {type(error).__name__}: {error}") from error
    if not isinstance(answer, Mapping):
        raise refuse(f"answered {type(answer).__name__}, not a mapping of products to shares")
    column = {str(name): p for p, name in enumerate(measured.products)}
    share = np.zeros(len(column))
    for product, value in answer.items():
        if product not in column:
            raise refuse(f"names {product!r}, which is no product of this world: {', '.join(column)}")
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not math.isfinite(value):
            raise refuse(f"says {value!r} of {product}: not a finite number")
        if value < 0:
            raise refuse(f"says {value!r} of {product}: below 0")
        share[column[product]] = float(value)
    if abs(share.sum() - 1.0) > SHARES_SUM_TOLERANCE:
        raise refuse(f"gives shares that sum to {share.sum():.4g}, not 1")
    return np.asarray(share / share.sum())


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "an unknown package"
