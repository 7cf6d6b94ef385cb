"""What the mover reads from the environment."""

from __future__ import annotations

from pydantic import Field

from libs.reconcile.environment import Settings
from services.mover.moves_plan import MovePolicy


class MoverSettings(Settings):
    """How much may be under way at once, and how patient the mover is. Durations are on the Clock; see MovePolicy."""

    mover_actuator: str = Field(default="simulated", validation_alias="PLIMSOLL_MOVER_ACTUATOR")
    moves_max: int = Field(default=1000, ge=1, le=100_000, validation_alias="PLIMSOLL_MOVES_MAX")
    moves_msb_share_max: float = Field(default=0.1, gt=0, le=1, validation_alias="PLIMSOLL_MOVES_MSB_SHARE_MAX")
    move_attempts_max: int = Field(default=3, ge=1, le=20, validation_alias="PLIMSOLL_MOVE_ATTEMPTS_MAX")
    move_backoff_s: float = Field(default=30.0, ge=0, le=3600, validation_alias="PLIMSOLL_MOVE_BACKOFF_S")
    move_step_s_max: float = Field(default=3600.0, gt=0, le=86_400, validation_alias="PLIMSOLL_MOVE_STEP_S_MAX")
    history_kept_days: int = Field(default=90, ge=1, le=3650, validation_alias="PLIMSOLL_HISTORY_KEPT_DAYS")

    def policy(self) -> MovePolicy:
        """The part that plans are made by."""
        return MovePolicy(
            moves_max=self.moves_max,
            msb_share_max=self.moves_msb_share_max,
            attempts_max=self.move_attempts_max,
            backoff_s=self.move_backoff_s,
            step_s_max=self.move_step_s_max,
        )
