"""Test moves that failed for good: an operator retries one, skips its step, or retires its server."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from libs.domain.move import MoveStatus, MoveStep
from libs.domain.principal import Role
from libs.domain.retirement import RetirementKind, RetirementScope
from libs.domain.unavailability import Unavailability
from libs.store.fleet.regions import load_region
from libs.store.fleet.retirements import announce_retirement
from libs.store.fleet.unavailability_events import list_events, lock_events
from libs.store.platform import audit
from services.broker.reconcilers.finish_retirements import FinishRetirements
from tests.builders.mover import Mover, dead_letter, http
from tests.builders.race import wait_for_a_lock


def test_an_operator_retries_a_dead_letter(mover: Mover) -> None:
    move_id = dead_letter(mover)
    client = http(mover)
    listed = client.get("/v1/moves", params={"dead_letter": "open"}).json()["items"]
    assert [move["move_id"] for move in listed] == [move_id]
    answer = client.post(f"/v1/moves/{move_id}/retry", json={"reason": "new disk"})
    assert (answer.status_code, answer.json()["dead_letter"]) == (200, "retried")
    with mover.database.snapshot() as tx:
        assert list_events(tx, "west", is_open=True).items == ()
        (entry,) = audit.list_entries(tx, subject_kind="move").items
    assert (entry.actor, entry.action, entry.reason) == ("token-operator", "retry_move", "new disk")
    mover.settle()
    assert mover.moves("server-00")[-1].steps == (MoveStep.CLEAN, MoveStep.HOST_PROFILE, MoveStep.JOIN)
    assert mover.server("server-00").current_reservation == "db"
    again = client.post(f"/v1/moves/{move_id}/retry", json={"reason": "once more"})
    assert (again.status_code, again.json()["code"]) == (409, "wrong_phase")


@pytest.mark.parametrize("step", [step for step in MoveStep if step is not MoveStep.ABORT])
def test_an_operator_skips_a_step_that_was_done_by_hand(mover: Mover, step: MoveStep) -> None:
    move_id = dead_letter(mover, step)
    answer = http(mover).post(f"/v1/moves/{move_id}/skip", json={"reason": "did it myself"})
    assert (answer.status_code, answer.json()["dead_letter"]) == (200, "skipped")
    mover.settle()
    (move,) = mover.moves()
    assert move.status is MoveStatus.DONE
    assert (step.value, 3, "skipped") in mover.records(move)
    server = mover.server("server-00")
    assert (server.current_reservation, server.host_profile) == ("db", "big-pages")
    assert server.unavailability is Unavailability.NONE


def test_a_skipped_step_of_a_move_that_nobody_wants_any_more_ends_it(mover: Mover) -> None:
    move_id = dead_letter(mover, MoveStep.PREEMPT)
    mover.retarget(server_00=None)
    assert http(mover).post(f"/v1/moves/{move_id}/skip", json={"reason": "by hand"}).json()["status"] == "cancelled"
    assert mover.server("server-00").current_reservation is None


def test_a_dead_letter_goes_with_its_server(mover: Mover) -> None:
    move_id = dead_letter(mover, MoveStep.JOIN)
    mover.retarget(server_00=None)
    with mover.database.write() as tx:
        announce_retirement(
            tx,
            "west",
            scope=RetirementScope.SERVER,
            scope_name="server-00",
            kind=RetirementKind.DECOMMISSION,
            to_hardware_type=None,
            reason="beyond repair",
            due_at=mover.clock.now(),
            back_at=None,
            actor="olga",
            now=mover.clock.now(),
        )
    assert FinishRetirements(mover.database, mover.clock, "west").reconcile() == (1, 0)
    client = http(mover)
    assert client.get("/v1/moves", params={"dead_letter": "open"}).json()["items"] == []
    refused = client.post(f"/v1/moves/{move_id}/skip", json={"reason": "by hand"})
    assert (refused.status_code, refused.json()["code"]) == (409, "wrong_phase")


def test_moves_fail_in_the_order_of_locks_of_everybody_else(mover: Mover) -> None:
    """Skipping a step or ending an event locks the events first. It would wait for a move that waits for the events."""
    with ThreadPoolExecutor(1) as pool:
        with mover.database.write() as tx:
            lock_events(tx, load_region(tx, "west").region_id)
            failing = pool.submit(dead_letter, mover, MoveStep.CLEAN)
            wait_for_a_lock(mover.database, failing.done)
            assert tx.execute(sa.text("SELECT count(*) FROM (SELECT FROM moves FOR UPDATE NOWAIT) AS m")).scalar() == 1
        assert failing.result()


def test_moves_that_did_not_fail_cannot_be_retried_or_skipped(mover: Mover) -> None:
    mover.settle()
    client = http(mover)
    for verb in ("retry", "skip"):
        answer = client.post(f"/v1/moves/{mover.moves()[0].move_id}/{verb}", json={"reason": "why not"})
        assert (answer.status_code, answer.json()["code"]) == (409, "wrong_phase")
        assert client.post(f"/v1/moves/999/{verb}", json={"reason": "why not"}).status_code == 404
        assert client.post(f"/v1/moves/1/{verb}", json={}).status_code == 422
        assert (
            http(mover, Role(f"{'viewer' if verb == 'retry' else 'requester'}"))
            .post(f"/v1/moves/1/{verb}", json={"reason": "x"})
            .status_code
            == 403
        )
