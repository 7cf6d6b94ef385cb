"""Departures below *hold* that operators decide on."""

from datetime import datetime

import numpy as np

from libs.domain.departure_exceptions import ExceptedReservation, Exceptions
from libs.domain.departure_exceptions import StoredExceptions as Stored
from tests.builders.moving_world import T0


def excepted(below_rru: dict[int, float], *servers: tuple[int, int, int], decided: datetime | None = T0) -> Stored:
    """Exceptions for reservations, and for servers with their ways, approved at T0."""
    ways = np.array(sorted(servers), np.int64).reshape(-1, 3)
    return Stored(
        approval_id=17,
        is_rejected=False,
        decided_at=decided,
        window_s=3600.0,
        exceptions=Exceptions(
            reservations=tuple(
                ExceptedReservation(reservation_id=r, reservation=f"r{r}", below_rru=rru, seconds=60.0, servers=1)
                for r, rru in below_rru.items()
            ),
            seconds=60.0,
            server_id=ways[:, 0],
            from_id=ways[:, 1],
            to_id=ways[:, 2],
        ),
    )
