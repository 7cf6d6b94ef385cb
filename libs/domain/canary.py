"""The prices of a new policy for a share of the reservations, while the others keep the region's policy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from libs.domain.arrays import Bools
from libs.domain.policy import RegionPolicy

PER_RESERVATION = (
    "move_cost_idle",
    "move_cost_in_use",
    "spread_cost",
    "buffer_cost",
    "surplus_cost",
    "locality_cost",
)
"""The fields of a policy that a canary changes: prices of a reservation's own servers (docs/designs/0053). All other
fields hold for the whole region.
"""
_HASHES = 2**64


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """A new policy on trial.

    policy  its fields PER_RESERVATION apply to the chosen reservations; its other fields to none
    share   the share of the reservations, above 0 and below 1
    salt    text that distinguishes the choices of two roll-outs
    """

    policy: RegionPolicy
    share: float
    salt: str

    def chosen(self, names: Iterable[object]) -> Bools:
        """Return a (R,) mask of the reservations `names` that have the new prices.

        The choice depends on salt, share and name alone. A larger share keeps the reservations of a smaller one.
        """
        return chosen(names, share=self.share, salt=self.salt)

    def as_dict(self) -> dict[str, object]:
        """Return the canary for JSON."""
        return asdict(self)

    @classmethod
    def of_dict(cls, found: Mapping[str, object]) -> Canary:
        """Return the canary that `as_dict` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        policy, share, salt = found["policy"], found["share"], found["salt"]
        if not isinstance(policy, dict) or not isinstance(share, int | float):
            raise TypeError("a canary has a policy and a share")
        return cls(policy=RegionPolicy(**policy), share=float(share), salt=str(salt))


def chosen(names: Iterable[object], *, share: float, salt: str) -> Bools:
    """Return a (R,) mask of the reservations `names` that a canary of this share and salt has."""
    limit = share * _HASHES
    return np.array([_hash(salt, name) < limit for name in names], bool)


def first_share(names: Iterable[object], *, salt: str) -> float:
    """Return the share above which a canary of this salt has one of the reservations `names`; 1 without any."""
    return min((_hash(salt, name) for name in names), default=_HASHES) / _HASHES


def _hash(salt: str, name: object) -> int:
    return int.from_bytes(hashlib.sha256(f"{salt}/{name}".encode()).digest()[:8])
