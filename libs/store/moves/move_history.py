"""Moves for readers of the API: a page of moves, or one move with all attempts at its steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from libs.domain.move import DeadLetter, Move, MoveStatus, MoveStep, StepRecord, StepResult
from libs.domain.page import Page
from libs.store.fleet.departure_waits import WAIT_COLUMNS, wait_of
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.store.tables import (
    departure_waits,
    move_steps,
    moves,
    regions,
    reservation_waits,
    reservations,
    servers,
)

_leaves, _joins = reservations.alias("leaves"), reservations.alias("joins")
_SELECT = (
    sa.select(
        moves,
        regions.c.name.label("region"),
        servers.c.name.label("server"),
        _leaves.c.name.label("from_reservation"),
        _joins.c.name.label("to_reservation"),
        *WAIT_COLUMNS,
    )
    .join(regions, regions.c.region_id == moves.c.region_id)
    .join(servers, servers.c.server_id == moves.c.server_id)
    .outerjoin(_leaves, _leaves.c.reservation_id == moves.c.from_reservation_id)
    .outerjoin(_joins, _joins.c.reservation_id == moves.c.to_reservation_id)
    .outerjoin(
        departure_waits, sa.and_(departure_waits.c.server_id == moves.c.server_id, moves.c.status == MoveStatus.RUNNING)
    )
    .outerjoin(reservation_waits, reservation_waits.c.reservation_id == departure_waits.c.reservation_id)
)


def load_move(tx: Transaction, move_id: int) -> Move:
    """Return one move. Raises NotFound."""
    row = tx.execute(_SELECT.where(moves.c.move_id == move_id)).mappings().one_or_none()
    if row is None:
        raise NotFound("move", move_id)
    return _move(row)


def list_moves(
    tx: Transaction,
    *,
    region: str | None = None,
    server: str | None = None,
    status: MoveStatus | None = None,
    dead_letter: DeadLetter | None = None,
    after: int | None = None,
    limit: int = 100,
) -> Page[Move]:
    """Return a page of moves in order of id. `after` is the last id of the page before."""
    query = _SELECT.where(moves.c.move_id > (after or 0)).order_by(moves.c.move_id).limit(limit + 1)
    if region is not None:
        query = query.where(regions.c.name == region)
    if server is not None:
        query = query.where(servers.c.name == server)
    if status is not None:
        query = query.where(moves.c.status == status)
    if dead_letter is not None:
        query = query.where(moves.c.dead_letter == dead_letter.value)
    return Page.of([_move(row) for row in tx.execute(query).mappings()], limit, lambda move: move.move_id)


def load_step_records(tx: Transaction, move_id: int) -> tuple[StepRecord, ...]:
    """Return every attempt at a step of a finished move, in order. Attempts that were skipped are included."""
    columns = [move_steps.c[name] for name in StepRecord.__dataclass_fields__]
    query = sa.select(*columns).where(move_steps.c.move_id == move_id)
    rows = tx.execute(query.order_by(move_steps.c.step_index, move_steps.c.attempt)).mappings()
    return tuple(
        StepRecord(**{**row, "step": MoveStep(row["step"]), "outcome": StepResult(row["outcome"])}) for row in rows
    )


def _move(row: Mapping[Any, Any]) -> Move:
    fields = {name: row[name] for name in Move.__dataclass_fields__ if name != "waits"}
    fields["waits"] = wait_of(row, row["from_reservation"])
    steps = tuple(MoveStep(step) for step in row["steps"])
    dead_letter = None if row["dead_letter"] is None else DeadLetter(row["dead_letter"])
    return Move(**{**fields, "steps": steps, "status": MoveStatus(row["status"]), "dead_letter": dead_letter})
