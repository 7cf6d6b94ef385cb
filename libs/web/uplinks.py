"""The fields of traffic over the uplinks of racks in requests."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from libs.domain.reservation import GBIT_PER_RRU_MAX
from libs.domain.uplinks import UPLINK_GBIT_MAX
from libs.web.model import Number

LimitGbit = Annotated[Number, Field(gt=0, le=UPLINK_GBIT_MAX)]
"""Gbit/s that a rack may send."""
GbitPerRru = Annotated[Number, Field(ge=0, le=GBIT_PER_RRU_MAX)]
"""Gbit/s that one RRU of a reservation sends out of its rack."""
