"""Answer requests that give commands to executions: a refused command changes nothing, and is recorded."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import Response

from libs.executions.four_eyes import FOUR_EYES
from libs.executions.give_command import CommandRefused
from libs.store.executions.commands import record_command
from libs.store.platform.database import Transaction
from libs.web.idempotency import Answer, Writer
from libs.web.problems import Problem


def give_once(write: Writer, effect: Callable[[Transaction], Answer]) -> Response:
    """Return the answer of `effect`, which gives a command. Raises Problem if the command is refused: 403 if another
    person must give it, else 409.
    """
    try:
        return write.once(effect)
    except CommandRefused as refused:
        with write.context.database.write() as tx:
            record_command(tx, refused.plan_execution_id, refused.record)
        found = refused.record
        if found.code == FOUR_EYES:
            raise Problem(403, "four_eyes", f"{found.message}.") from refused
        raise Problem(409, "conflict", f"{found.message}.", reason=found.code) from refused
