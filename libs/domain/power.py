"""The power that servers draw, and the limits of the domains that feed them. See docs/designs/0055-power.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats, Names

IDLE_W, FULL_W = "idle_w", "full_w"
"""The attributes of a hardware type: W of a free server, and W of a server that a reservation has."""
ROUNDING_W = 1e-3
"""Differences up to this many W are rounding."""
WATTS_MAX = 1e9
"""The largest limit of a domain that the API accepts, in W."""
HEADROOM_MAX = 0.9
LIMITS_MAX = 10_000
"""Most limits of one region."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerLimit:
    """The most that the servers of one domain may draw.

    kind      MSB_KIND, or the name of a DomainKind, such as power_row
    domain    its name
    limit_w   W that the domain can feed
    headroom  share of it that plans keep free
    """

    kind: str
    domain: str
    limit_w: float
    headroom: float = 0.0

    @property
    def allowed_w(self) -> float:
        """Return the W that plans may use."""
        return self.limit_w * (1.0 - self.headroom)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PowerPart:
    """The rest of a region, for a snapshot with only some of its servers. There are L limits and M MSBs.

    room_w     (L,) W  that new servers may add below each limit
    msb_w      (M,) W  of the other servers
    msb_all_w  (M,) W  of the other servers in full
    even       the share of all watts that an even region draws
    """

    room_w: Floats
    msb_w: Floats
    msb_all_w: Floats
    even: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Power:
    """The watts of T hardware types, and the L limits of a region.

    idle_w, full_w  (T,) W  of a free server, and of one in a reservation; 0: not known
    limits          (L,)
    part            the rest of the region; None: the snapshot has all of its servers
    """

    idle_w: Floats
    full_w: Floats
    limits: tuple[PowerLimit, ...] = ()
    part: PowerPart | None = None

    @property
    def gain_w(self) -> Floats:
        """Return the (T,) W that a free server adds when a reservation gets it."""
        return self.full_w - self.idle_w


def listed_watts(
    types: Names, attributes: Mapping[str, Mapping[str, float]], limits: Sequence[PowerLimit] = ()
) -> Power | None:
    """Return the power of a region by the attributes of its hardware types; None without any watts or limits.

    A type with one of the two figures has it for both. A type with neither counts 0 W.
    """
    idle, full = (np.array([_watts(attributes.get(str(t), {}), *names) for t in types], np.float64) for names in _PAIRS)
    if not full.any() and not limits:
        return None
    return Power(idle_w=np.minimum(idle, full), full_w=full, limits=tuple(limits))


_PAIRS = ((IDLE_W, FULL_W), (FULL_W, IDLE_W))


def _watts(figures: Mapping[str, float], first: str, second: str) -> float:
    return max(float(figures.get(first, figures.get(second, 0.0))), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainPower:
    """The power of one domain.

    current_w, target_w  W drawn by current bindings, and W drawn once all servers are where plans want them
    full_w               W of all of its servers in full
    limit_w, headroom    of its limit; None: it has none
    """

    kind: str
    domain: str
    current_w: float
    target_w: float
    full_w: float
    limit_w: float | None = None
    headroom: float | None = None

    @property
    def allowed_w(self) -> float | None:
        """Return the W that plans may use; None without a limit."""
        return None if self.limit_w is None else self.limit_w * (1.0 - (self.headroom or 0.0))


def variance_of(drawn_w: Floats, full_w: Floats) -> float | None:
    """Return the variance of the W drawn by each MSB, as shares of the W of its servers in full; None without watts.

    Source: RAS, 4.4 and figure 14.
    """
    there = full_w > 0
    return float(np.var(drawn_w[there] / full_w[there])) if there.any() else None
