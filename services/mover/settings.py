"""Read the mover's settings from the environment."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from libs.actuators.registry import actuator_names, create_actuator
from libs.domain.mover import MOVES_MAX, MSB_SHARE_MAX
from libs.reconcile.call_retries import CallSettings
from libs.reconcile.clock import SystemClock
from libs.reconcile.environment import Settings
from services.mover.move_policy import MovePolicy


def _is_actuator(name: str) -> str:
    if name not in actuator_names():
        raise ValueError(f"there is no actuator {name!r}: choose one of {', '.join(sorted(actuator_names()))}")
    return name


class MoverSettings(Settings):
    """The actuator, and bounds on moves in progress; see MovePolicy. CallSettings holds time limits and retries.

    Without an actuator no server moves. There is no default: the simulated one would report moves that never happened.
    """

    mover_actuator: Annotated[str, AfterValidator(_is_actuator)] | None = Field(
        default=None, validation_alias="PLIMSOLL_MOVER_ACTUATOR"
    )
    moves_max: int = Field(default=MOVES_MAX, ge=1, le=100_000, validation_alias="PLIMSOLL_MOVES_MAX")
    moves_msb_share_max: float = Field(
        default=MSB_SHARE_MAX, gt=0, le=1, validation_alias="PLIMSOLL_MOVES_MSB_SHARE_MAX"
    )
    history_kept_days: int = Field(default=90, ge=1, le=3650, validation_alias="PLIMSOLL_HISTORY_KEPT_DAYS")

    def policy(self, calls: CallSettings) -> MovePolicy:
        """Return the settings that services.mover.moves_plan uses."""
        return MovePolicy(
            moves_max=self.moves_max,
            msb_share_max=self.moves_msb_share_max,
            attempts_max=calls.move_attempts_max,
            backoff=calls.steps(),
            step_s_max=calls.move_step_s_max,
            call_backoff=calls.calls(),
            breaker=calls.breaker(),
        )


def read_api_settings() -> None:
    """Read all settings of the mover's routes. Raises ValidationError for a wrong one."""
    CallSettings()
    MoverSettings()


def read_job_settings() -> None:
    """Read all settings of the mover's jobs. Raises ValidationError or ValueError for a wrong one."""
    read_api_settings()
    actuator = MoverSettings().mover_actuator
    if actuator is not None:
        create_actuator(actuator, SystemClock())
