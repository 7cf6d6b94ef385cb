"""The bounds and the patience of the mover."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from libs.domain.mover import MoverBounds
from libs.reconcile.call_retries import BREAKER, CALLS, Backoff, Breaker


@dataclass(frozen=True, slots=True, kw_only=True)
class MovePolicy:
    """Bounds on running moves in a region, and the patience of the mover.

    moves_max        moves at a time
    msb_share_max    share of an MSB's servers that may leave reservations at a time, and at least one server:
                     moves must not look like the loss of an MSB
    attempts_max     attempts at one step; after the last attempt the move has failed for good
    backoff          pause between attempts at a step
    step_s_max       seconds; the outcome of a longer attempt is unknown, so every move ends
    call_backoff     pause before the next call about a step, after a call without an answer
    breaker          when to stop calling a silent actuator
    msb_moves_max, msb_starts_per_minute   per MSB; None: no bound
    loan_s_max       seconds that a loan of a server may last; None: LOAN_S_MAX
    """

    moves_max: int
    msb_share_max: float
    attempts_max: int
    backoff: Backoff
    step_s_max: float
    call_backoff: Backoff = CALLS
    breaker: Breaker = BREAKER
    msb_moves_max: int | None = None
    msb_starts_per_minute: int | None = None
    loan_s_max: float | None = None

    def bounded_by(self, bounds: MoverBounds) -> MovePolicy:
        """Return the policy with the bounds that the region's operators have set."""
        return replace(self, **{name: value for name, value in asdict(bounds).items() if value is not None})
