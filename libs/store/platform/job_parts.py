"""Parts of running jobs, which any worker may answer. Each part has a job of its own, whose subject is the part's id.

`wanted_until` is on the database's clock. The job that offers a part extends it, as a worker renews a lease.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from libs.store.platform.database import Transaction
from libs.store.platform.jobs import drop_queued, enqueue
from libs.store.tables import job_parts


def put_part(tx: Transaction, kind: str, content: bytes, *, wanted_s: float) -> int:
    """Offer a part to the workers of jobs of `kind`, and return its id. It is wanted for `wanted_s` seconds."""
    values = {"content": content, "wanted_until": _from_now(wanted_s)}
    part_id: int = tx.execute(sa.insert(job_parts).values(values).returning(job_parts.c.job_part_id)).scalar_one()
    enqueue(tx, kind, str(part_id))
    return part_id


def withdraw_part(tx: Transaction, kind: str, part_id: int) -> bool:
    """Delete a part that no worker has begun. Return False, and change nothing, if a worker has begun it."""
    if not drop_queued(tx, kind, str(part_id)):
        return False
    tx.execute(sa.delete(job_parts).where(job_parts.c.job_part_id == part_id))
    return True


def load_part(tx: Transaction, part_id: int) -> bytes | None:
    """Return the content of a part; None if its answer is not wanted any more."""
    wanted = (job_parts.c.answer.is_(None), job_parts.c.wanted_until > sa.func.now())
    return tx.execute(sa.select(job_parts.c.content).where(job_parts.c.job_part_id == part_id, *wanted)).scalar()


def put_answer(tx: Transaction, part_id: int, answer: bytes) -> bool:
    """Store the answer of a part. Return False if it has one already, or if it was withdrawn."""
    unanswered = (job_parts.c.job_part_id == part_id, job_parts.c.answer.is_(None))
    return tx.execute(sa.update(job_parts).where(*unanswered).values(answer=answer)).rowcount == 1


def load_answers(tx: Transaction, part_ids: Sequence[int]) -> Mapping[int, bytes]:
    """Return the answers that there are to the parts `part_ids`."""
    answered = (job_parts.c.job_part_id.in_(part_ids), job_parts.c.answer.is_not(None))
    rows = tx.execute(sa.select(job_parts.c.job_part_id, job_parts.c.answer).where(*answered)).all()
    return {int(part_id): bytes(answer) for part_id, answer in rows}


def extend_parts(tx: Transaction, part_ids: Sequence[int], *, wanted_s: float) -> None:
    """Want the parts `part_ids` for `wanted_s` seconds from now."""
    chosen = sa.update(job_parts).where(job_parts.c.job_part_id.in_(part_ids))
    tx.execute(chosen.values(wanted_until=_from_now(wanted_s)))


def drop_parts(tx: Transaction, kind: str, part_ids: Sequence[int]) -> None:
    """Delete the parts `part_ids` and their waiting jobs. A worker that has begun one finds nothing to answer."""
    for part_id in part_ids:
        drop_queued(tx, kind, str(part_id))
    tx.execute(sa.delete(job_parts).where(job_parts.c.job_part_id.in_(part_ids)))


def purge_parts(tx: Transaction) -> int:
    """Delete the parts that a dead job has left, and return their number."""
    return tx.execute(sa.delete(job_parts).where(job_parts.c.wanted_until < sa.func.now())).rowcount


def _from_now(duration_s: float) -> sa.ColumnElement[Any]:
    return sa.func.now() + sa.func.make_interval(0, 0, 0, 0, 0, 0, duration_s)
