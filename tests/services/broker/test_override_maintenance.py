"""If limits demand four eyes, an override of the rules of maintenance waits for a second person."""

import pytest
import sqlalchemy as sa

from libs.domain.approval import ApprovalKind, ApprovalLimits, ApprovalStatus
from libs.domain.unavailability import EventState, UnavailabilityScope
from libs.reconcile.errors import StaleGeneration
from libs.store.capacity.approval_limits import set_approval_limits
from libs.store.capacity.approvals import load_approval, supersede_of_event
from libs.store.fleet.regions import load_region
from libs.store.fleet.unavailability_events import load_event
from libs.store.platform.database import Database, Transaction
from libs.web.problems import Problem
from services.broker.ask_maintenance import MaintenanceRequest, ask_queue, request_maintenance
from services.portal.decide_approvals import approve, reject
from tests.builders.region import region_image
from tests.builders.stored import NOW, stored

WHY = {"generation": 1, "reason": "agreed", "now": NOW}


@pytest.fixture(autouse=True)
def region_id(database: Database) -> int:
    blocks = {"block": {f"server-{k:02d}": f"block-{k % 2}" for k in range(8)}}
    stored(database, region_image(domains=blocks))
    with database.write() as tx:
        region_id = load_region(tx, "west").region_id
        set_approval_limits(tx, region_id, ApprovalLimits(four_eyes=True))
        return region_id


def override(tx: Transaction, scope: str = UnavailabilityScope.MSB, name: str = "msb-00") -> tuple[int, int]:
    """Ask for maintenance of too much. Return the ids of the event and of its approval."""
    request = MaintenanceRequest(
        region="west",
        scope=scope,
        scope_name=name,
        reason="breaker test",
        starts_at=NOW,
        ends_at=None,
        override_reason="the breaker must go today",
    )
    event, approval = request_maintenance(tx, request, actor="olga", now=NOW)
    assert approval is not None
    assert (event.state, approval.kind) == (EventState.AWAITING_APPROVAL, ApprovalKind.MAINTENANCE_OVERRIDE)
    assert [cause.reason for cause in approval.causes] == ["AboveQuarter"]
    assert (approval.given_reason, approval.asked_by) == ("the breaker must go today", ("olga",))
    return event.unavailability_event_id, approval.approval_id


def maintained(tx: Transaction) -> int:
    return tx.execute(sa.text("SELECT count(*) FROM servers WHERE unavailability = 'planned'")).scalar_one()


def test_another_person_lets_it_begin(database: Database, region_id: int) -> None:
    with database.write() as tx:
        event_id, approval_id = override(tx)
        ask_queue(tx, region_id, now=NOW)
        assert maintained(tx) == 0
        with pytest.raises(Problem) as alone:
            approve(tx, approval_id, actor="olga", **WHY)
        assert alone.value.code == "four_eyes"
        approve(tx, approval_id, actor="pia", **WHY)
        assert (load_event(tx, event_id).state, maintained(tx)) == (EventState.ALLOWED, 4)


def test_the_second_person_reads_which_domain_it_is(database: Database) -> None:
    with database.write() as tx:
        event_id, approval_id = override(tx, "block", "block-1")
        assert load_approval(tx, approval_id).about == "maintenance of block block-1 in west"
        approve(tx, approval_id, actor="pia", **WHY)
        assert (load_event(tx, event_id).state, maintained(tx)) == (EventState.ALLOWED, 4)


def test_a_rejection_refuses_it(database: Database) -> None:
    with database.write() as tx:
        event_id, approval_id = override(tx)
        reject(tx, approval_id, actor="pia", **WHY)
        event = load_event(tx, event_id)
        assert (event.state, event.ended_at, maintained(tx)) == (EventState.REFUSED, NOW, 0)


def test_its_end_supersedes_the_approval(database: Database) -> None:
    with database.write() as tx:
        event_id, approval_id = override(tx)
        supersede_of_event(tx, event_id, decided_by="olga", reason="Ended", now=NOW)
        found = load_approval(tx, approval_id)
        assert (found.status, found.superseded_by) == (ApprovalStatus.SUPERSEDED, None)
        assert found.about == "maintenance of msb msb-00 in west"
        with pytest.raises((Problem, StaleGeneration)):
            approve(tx, approval_id, actor="pia", **WHY)
