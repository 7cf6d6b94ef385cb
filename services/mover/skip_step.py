"""Skip the failed step of a move after an operator has done it by hand. The move continues with the next step."""

from __future__ import annotations

from datetime import datetime

from libs.domain.move import Move, StepResult
from libs.store.moves.dead_letters import reopen_to_skip
from libs.store.moves.move_history import load_move
from libs.store.moves.moves import change_moves
from libs.store.moves.moves_snapshot import load_running_move
from libs.store.platform.database import Transaction
from services.mover.move_policy import MovePolicy
from services.mover.moves_plan import judge_outcome


def skip_step(
    tx: Transaction,
    move_id: int,
    policy: MovePolicy,
    *,
    reason: str,
    actor: str,
    now: datetime,
) -> Move:
    """Treat the step as done: write its effect on the server, and begin the next step if there is one.

    A move that is no longer wanted ends as cancelled. Raises NotFound and NotPossible.
    """
    reopen_to_skip(tx, move_id, reason=reason, actor=actor, now=now)
    move = load_running_move(tx, move_id)
    change = judge_outcome(move, StepResult.SKIPPED, f"skipped by {actor}: {reason}", policy, now)
    assert change is not None, "a step with a result changes its move"
    change_moves(tx, [change], now=now)
    return load_move(tx, move_id)
