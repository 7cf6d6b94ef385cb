"""Tell which shared buffer runs out first, and when, from how often servers fail and how long repairs take. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from libs.domain.failure_record import SpareRecord

_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpareOutlook:
    """The outlook for the shared buffer of one hardware type.

    failures_per_day   servers of the type that fail in a day
    repair_days        mean days of a repair; None: no repair has ended yet
    down_expected      servers that will be down at a time if both stay as they are; None: no repair has ended yet
    runs_out_days      days until no spare server is expected to be left; None: never, at these rates
    lasts_days         days that the spare servers would last if nothing were repaired; None: no failure was seen
    """

    hardware_type: str
    wanted: float
    usable: int
    down: int
    failures_per_day: float
    repair_days: float | None
    down_expected: float | None
    runs_out_days: float | None
    lasts_days: float | None


def foresee_spares(record: SpareRecord) -> tuple[SpareOutlook, ...]:
    """Return the outlook for each shared buffer, the one that runs out first in front.

    A failed server takes a spare one, and comes back when it is repaired. With rate f and mean repair time D, the
    expected number of servers that are down goes from d to N = f D:

        down(t) = N + (d - N) exp(-t / D),    usable(t) = u + d - down(t)

    The buffer runs out at the first t with usable(t) = 0.
    """
    found = []
    for t, name in enumerate(record.hardware_type):
        rate, repair_s = float(record.per_s[t]), float(record.mean_down_s[t])
        usable, down = int(record.usable[t]), int(record.down[t])
        is_known = math.isfinite(repair_s)
        found.append(
            SpareOutlook(
                hardware_type=str(name),
                wanted=float(record.wanted[t]),
                usable=usable,
                down=down,
                failures_per_day=rate * _DAY_S,
                repair_days=repair_s / _DAY_S if is_known else None,
                down_expected=rate * repair_s if is_known else None,
                runs_out_days=_days(_runs_out_s(usable, down, rate, repair_s)),
                lasts_days=_days(usable / rate if rate > 0 else math.inf),
            )
        )
    return tuple(sorted(found, key=_soonest_first))


def _runs_out_s(usable: int, down: int, rate: float, repair_s: float) -> float:
    """Return the first t >= 0 with usable(t) = 0; inf: never."""
    if usable <= 0:
        return 0.0
    if rate <= 0:
        return math.inf
    if math.isinf(repair_s):
        return usable / rate
    level = rate * repair_s
    above = level - (usable + down)  # how far the steady state is beyond all spare servers
    return repair_s * math.log((level - down) / above) if above > 0 else math.inf


def _days(seconds: float) -> float | None:
    return seconds / _DAY_S if math.isfinite(seconds) else None


def _soonest_first(one: SpareOutlook) -> tuple[float, float, str]:
    never = math.inf
    runs_out = never if one.runs_out_days is None else one.runs_out_days
    return runs_out, never if one.lasts_days is None else one.lasts_days, one.hardware_type
