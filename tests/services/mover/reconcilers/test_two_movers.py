"""Writers of the same moves lock them in one order, so two movers of a region wait for each other."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import numpy as np
import pytest
import sqlalchemy as sa

from libs.domain.departure_wait import WaitsPlan
from libs.domain.move import MoveChange, MovePostponed, MoveStart, MoveStatus, MoveStep, RunningMove
from libs.store.fleet.regions import load_region
from libs.store.moves.moves import change_moves, mark_asked, start_moves
from libs.store.moves.moves_snapshot import load_moves_snapshot
from libs.store.moves.urgent_departures import mark_urgent
from libs.store.moves.waits import write_waits
from libs.store.platform.database import Database, Transaction
from tests.builders.clock import ManualClock
from tests.builders.mover import SPECS, Mover
from tests.builders.race import wait_for_a_lock
from tests.builders.region import region_image
from tests.builders.stored import NOW, reservation_id, stored

SERVERS = ["server-00", "server-01"]
Write = Callable[[Transaction, Sequence[RunningMove]], object]


def is_deadlock_free(
    database: Database, holds: Sequence[Callable[[Transaction], object]], write: Callable[[Transaction], object]
) -> bool:
    """Hold one row, let `write` begin, and take the second row. Return whether both go on."""
    first, second = holds

    def run() -> None:
        with database.write() as tx:
            write(tx)

    with ThreadPoolExecutor(1) as pool:
        with database.write() as tx:
            first(tx)
            other = pool.submit(run)
            wait_for_a_lock(database, other.done)
            second(tx)
        return other.exception() is None


def cancel(move: RunningMove) -> MoveChange:
    return MoveChange(
        move=move,
        status=MoveStatus.CANCELLED,
        reason="not_wanted",
        step_index=move.step_index,
        attempt=move.attempt,
        step_started_at=move.step_started_at,
        result=None,
        message=None,
    )


def later(move: RunningMove) -> MovePostponed:
    return MovePostponed(move=move, ask_at=NOW + timedelta(minutes=1), calls_failed=1, note=None)


WRITES: dict[str, Write] = {
    "mark": lambda tx, moves: mark_asked(tx, moves, now=NOW),
    "change": lambda tx, moves: change_moves(tx, [cancel(move) for move in moves], now=NOW),
    "postpone": lambda tx, moves: change_moves(tx, [], [later(move) for move in moves], now=NOW),
    "change one, postpone one": lambda tx, moves: change_moves(tx, [cancel(moves[0])], [later(moves[1])], now=NOW),
    "urgent": lambda tx, moves: mark_urgent(
        tx, 1, [move.server_id for move in moves], reason="fire", actor="olga", now=NOW
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_two_writers_of_two_moves_meet_no_deadlock(database: Database, clock: ManualClock, name: str) -> None:
    stored(database, region_image(reservations=SPECS, current=dict.fromkeys(SERVERS, "web"), target={}))
    mover = Mover(database, clock)
    with database.write() as tx:  # the bound of what web must keep is no matter here
        tx.execute(sa.text("UPDATE reservations SET capacity_rru = 0"))
    assert mover.tick().started == len(SERVERS)
    with database.write() as tx:  # the new version of a row lies behind the other rows
        tx.execute(sa.text("UPDATE moves SET note = 'behind' WHERE move_id = (SELECT min(move_id) FROM moves)"))
    with database.snapshot() as tx:
        moves = sorted(load_moves_snapshot(tx, "west", moves_max=9, now=NOW).running, key=lambda move: -move.move_id)
    lock = sa.text("SELECT FROM moves WHERE move_id = :id FOR NO KEY UPDATE")
    holds = [lambda tx, move=move: tx.execute(lock, {"id": move.move_id}) for move in reversed(moves)]

    def write(tx: Transaction) -> None:
        for plan in ("indexscan", "bitmapscan"):  # take the rows as they lie, as PostgreSQL also may
            tx.execute(sa.text(f"SET LOCAL enable_{plan} = off"))
        WRITES[name](tx, moves)

    assert is_deadlock_free(database, holds, write)


def test_two_movers_that_start_moves_meet_no_deadlock(database: Database) -> None:
    stored(database, region_image(reservations=SPECS, target=dict.fromkeys(SERVERS, "web")))
    with database.write() as tx:
        tx.execute(sa.text("UPDATE servers SET unclean = true WHERE name = 'server-00'"))
    with database.snapshot() as tx:
        region_id = load_region(tx, "west").region_id
        waiting = load_moves_snapshot(tx, "west", moves_max=9, now=NOW).waiting
    starts = [
        MoveStart(
            server_id=int(server_id),
            server_generation=int(generation),
            from_reservation_id=None,
            to_reservation_id=int(target_id),
            steps=(MoveStep.JOIN,),
        )
        for server_id, generation, target_id in zip(waiting.id, waiting.generation, waiting.target_id, strict=True)
    ]

    def start(tx: Transaction, chosen: Sequence[MoveStart]) -> None:
        start_moves(tx, region_id, chosen, now=NOW)

    holds = [lambda tx, one=one: start(tx, [one]) for one in starts]
    assert is_deadlock_free(database, holds, lambda tx: start(tx, starts[::-1]))


def test_two_movers_that_tell_waits_meet_no_deadlock(database: Database) -> None:
    snapshot = stored(database, region_image(reservations=SPECS, current=dict.fromkeys(SERVERS, "web"), target={}))
    of_web = [[int(i), reservation_id(snapshot, "web")] for i in sorted(snapshot.servers.id)[: len(SERVERS)]]
    with database.snapshot() as tx:
        region_id = load_region(tx, "west").region_id

    def tell(tx: Transaction, began: list[list[int]]) -> None:
        write_waits(tx, region_id, WaitsPlan(began=np.array(began, np.int64)), now=NOW)

    holds = [lambda tx, one=one: tell(tx, [one]) for one in of_web]
    assert is_deadlock_free(database, holds, lambda tx: tell(tx, of_web[::-1]))
