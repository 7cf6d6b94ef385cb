"""The RRU catalogue of a region: for each class of workload the RRU of one server of each hardware type.

Operators own it. Requests name a class (docs/designs/0026-units-of-the-operators.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from math import exp, log

CLASSES_MAX = 200
"""Classes of one region."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassVersion:
    """One version of a class. Versions are never changed.

    version      1 for the first of the class
    reference    the hardware type whose RRU is 1.0 in every class of the region
    rru          hardware type -> RRU of one server; absent types are not used. Empty: the class is retired
    asked_by     names of the tokens that asked for the version
    approved_by  name of the token that approved it
    """

    workload_class: str
    version: int
    reference: str
    rru: Mapping[str, float]
    asked_by: tuple[str, ...]
    approved_by: str
    reason: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RruVersion(ClassVersion):
    """A version of a class with its place in the store."""

    rru_version_id: int
    region: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RruCatalogue:
    """The present versions of all classes of a region. Without a class, requests bring RRUs of their own.

    reference   the reference type; None: there is no class yet
    classes     class of workload -> hardware type -> RRU
    """

    reference: str | None
    classes: Mapping[str, Mapping[str, float]]

    def reference_rru(self) -> dict[str, float]:
        """Return hardware type -> the geometric mean of its RRU over the classes that have it."""
        logs: dict[str, list[float]] = {}
        for rru in self.classes.values():
            for name, value in rru.items():
                logs.setdefault(name, []).append(log(value))
        return {name: exp(sum(values) / len(values)) for name, values in logs.items()}

    def nearest(self, rru: Mapping[str, float]) -> tuple[str, dict[str, float]] | None:
        """Return the class that is nearest to `rru`, and by which fraction each value differs from the class.

        The nearest class has the least mean of |log(ratio)| over the types that both have. A type that the class lacks
        has no difference. None: no class has any of the types.
        """
        found = None
        for name, values in sorted(self.classes.items()):
            both = {t: rru[t] / values[t] for t in sorted(rru) if t in values}
            if both:
                distance = sum(abs(log(ratio)) for ratio in both.values()) / len(both)
                if found is None or distance < found[0]:
                    found = distance, name, {t: ratio - 1.0 for t, ratio in both.items()}
        return None if found is None else found[1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionCatalogue:
    """All that operators say about the worth of servers in one region, for import and export.

    cost_units   hardware type -> cost units of one server; without the types for which no operator set them
    versions     all versions of all classes; those of one class are in order
    """

    cost_units: Mapping[str, float]
    versions: tuple[ClassVersion, ...] = ()

    def present(self) -> RruCatalogue:
        """Return the present versions of all classes, without those that are retired."""
        latest = {one.workload_class: one for one in self.versions}
        classes = {name: one.rru for name, one in latest.items() if one.rru}
        return RruCatalogue(reference=next((latest[name].reference for name in classes), None), classes=classes)

    def units(self) -> dict[str, float]:
        """Return hardware type -> the cost units of one server: those that are set, else its reference RRU."""
        return self.present().reference_rru() | dict(self.cost_units)
