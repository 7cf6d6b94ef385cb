"""A region's policy as it is stored, so that processes of two versions can share it (ADR 0060). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, replace

from libs.domain.policy import RegionPolicy

DEFAULTS = asdict(RegionPolicy())
"""The value of each field that a stored policy does not name."""


class UnknownPrices(Exception):
    """A process of a newer version set fields of a policy that this version does not know. It must not decide without
    them.
    """

    def __init__(self, region: str, names: Iterable[str]) -> None:
        self.region, self.names = region, tuple(sorted(names))
        super().__init__(
            f"the policy of region {region} sets {', '.join(self.names)}, which this version does not know: a process "
            "of a newer version set it, so only such a process may decide by it. Upgrade this one"
        )


def to_stored(policy: RegionPolicy, unknown: Mapping[str, object] | None = None) -> dict[str, object]:
    """Return a policy for the database: its fields that are not at their defaults, and those that are not known here.

    A field that is new, and not used, is then no field to an older process.
    """
    return {name: value for name, value in asdict(policy).items() if value != DEFAULTS[name]} | dict(unknown or {})


def of_stored(stored: Mapping[str, object]) -> tuple[RegionPolicy, dict[str, object]]:
    """Return a policy that a process of any version stored, and its fields that this version does not know."""
    known = {name: value for name, value in stored.items() if name in DEFAULTS}
    unknown = {name: value for name, value in stored.items() if name not in DEFAULTS}
    return RegionPolicy(**known), unknown  # type: ignore[arg-type]  # as `to_stored` wrote them


def changed(region: str, policy: RegionPolicy, change: Mapping[str, object]) -> RegionPolicy:
    """Return the policy of a region with a stored change of some fields. Raises UnknownPrices."""
    unknown = change.keys() - {one.name for one in fields(RegionPolicy)}
    if unknown:
        raise UnknownPrices(region, unknown)
    return replace(policy, **change)  # type: ignore[arg-type]  # checked when the change was asked for
