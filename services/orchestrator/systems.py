"""The systems that executions work with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from libs.carriers.carrier import Carrier
from libs.gauges.gauge import Gauge


@dataclass(frozen=True, slots=True, kw_only=True)
class Systems:
    """The systems that executions work with.

    resizes, shifts  carriers of these actions
    gauges           source of a gate -> gauge
    read_every_s     least seconds between two readings of a gate
    """

    resizes: Carrier
    shifts: Carrier
    gauges: Mapping[str, Gauge]
    read_every_s: float = 60.0
