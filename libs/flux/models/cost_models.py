"""Cost models of owners: an installed package gives the attribution of its service (Flux, 3.6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import numpy as np

from libs.domain.arrays import Floats
from libs.domain.cost_model import Measured

GROUP = "plimsoll.cost_models"
"""Group of entry points. The name of an entry point is the service that it models."""
CostModel = Callable[[Measured], Mapping[str, float]]
"""A function from the measurements to the share of its service's capacity that each product needs."""
SHARES_SUM_TOLERANCE = 1e-3


class CostModelError(ValueError):
    """A package's cost model failed, or its answer is not a set of shares."""


def installed_attributions(measured: Measured, stated: Floats | None = None) -> Floats:
    """Return the (S, P) attributions by installed cost models. The row of a service without a cost model is nan.

    stated  (S, P)  attributions in the world's own table, which take precedence over packages; nan rows: none

    An entry point for a service that this world lacks is ignored, because a package may serve several worlds.

    Raises CostModelError.
    """
    found = np.full((len(measured.services), len(measured.products)), np.nan) if stated is None else stated.copy()
    row = {str(name): s for s, name in enumerate(measured.services)}
    for service, point in _by_service(entry_points(group=GROUP)).items():
        if service in row and np.isnan(found[row[service]]).any():
            found[row[service]] = _asked(point, measured)
    return found


def _by_service(points: Iterable[EntryPoint]) -> dict[str, EntryPoint]:
    """Return one entry point per service. A package that occurs twice on Python's path counts once."""
    known: dict[str, EntryPoint] = {}
    for point in points:
        other = known.setdefault(point.name, point)
        if other.value != point.value or _package(other) != _package(point):
            raise CostModelError(
                f"{point.name}: two packages model it, {_package(other)} and {_package(point)}: uninstall one"
            )
    return known


def _asked(point: EntryPoint, measured: Measured) -> Floats:
    """Return the (P,) checked shares that a model answers for its service."""

    def refuse(what: str) -> CostModelError:
        return CostModelError(f"{point.name}: the cost model {point.value} of {_package(point)} {what}")

    try:
        model: CostModel = point.load()
        answer: Any = model(measured)
    except Exception as error:  # the message names the package at fault
        raise refuse(f"failed: {type(error).__name__}: {error}") from error
    if not isinstance(answer, Mapping):
        raise refuse(f"answered {type(answer).__name__}, not a mapping of products to shares")
    column = {str(name): p for p, name in enumerate(measured.products)}
    share = np.zeros(len(column))
    for product, value in answer.items():
        if product not in column:
            raise refuse(f"names {product!r}, which is not a product of this world: {', '.join(column)}")
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
