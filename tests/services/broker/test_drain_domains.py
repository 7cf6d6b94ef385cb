"""Planned maintenance of a domain of a further kind: its answers, its queue, and what the cover allows."""

import pytest
import sqlalchemy as sa

from libs.domain.maintenance import MaintenanceReason as Reason
from libs.domain.reservation import ReservationSpec
from libs.domain.unavailability import EventState, UnavailabilityEvent, UnavailabilityScope
from libs.store.capacity.maintenance import load_ground
from libs.store.fleet.regions import load_region
from libs.store.fleet.unavailability_events import load_event
from libs.store.platform.database import Database, Transaction
from services.broker.ask_maintenance import MaintenanceRefused, MaintenanceRequest, request_maintenance
from tests.builders.region import region_image
from tests.builders.stored import NOW, stored
from tests.services.broker.test_ask_maintenance import PLAIN, WEB, end, lose, maintained

GUARD = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False, survives_loss_of=("block",))
BLOCKS = {
    "b0": (0, 8, 16),
    "b1": (6, 22),
    "b2": (7, 23),
    "b3": (15, 9),
    "b4": (1, 2, 3, 10),
    "b5": (4, 5),
}
"""Each has servers of several MSBs, but b5."""


@pytest.fixture(autouse=True)
def region_id(database: Database) -> int:
    """Three MSBs of four racks of two servers. web holds three racks of each, plain holds a server of b1, and guard one
    of b2 and one of b3.
    """
    current = {f"server-{8 * m + i:02d}": "web" for m in range(3) for i in range(6)}
    current |= {"server-06": "plain", "server-07": "guard", "server-15": "guard"}
    image = region_image(
        msbs=3,
        racks_per_msb=4,
        servers_per_rack=2,
        reservations={"web": WEB, "plain": PLAIN, "guard": GUARD},
        current=current,
        domains={"block": {f"server-{k:02d}": name for name, of in BLOCKS.items() for k in of}},
    )
    stored(database, image)
    with database.write() as tx:
        return load_region(tx, "west").region_id


def ask(tx: Transaction, name: str, *, scope: str = "block", override: str | None = None) -> UnavailabilityEvent:
    request = MaintenanceRequest(
        region="west",
        scope=scope,
        scope_name=name,
        reason="new switches",
        starts_at=NOW,
        ends_at=None,
        override_reason=override,
    )
    return request_maintenance(tx, request, actor="olga", now=NOW)[0]


def again(tx: Transaction, event: UnavailabilityEvent) -> tuple[str, str | None]:
    found = load_event(tx, event.unavailability_event_id)
    return found.state, None if found.answer is None else found.answer.reason


def test_a_block_is_drained_and_comes_back(database: Database, region_id: int) -> None:
    with database.write() as tx:
        event = ask(tx, "b0")
        assert (event.state, event.scope, event.scope_name) == (EventState.ALLOWED, "block", "b0")
        assert event.answer is not None
        assert event.answer.message == "it takes 3 servers of 3 MSBs, at most a quarter of each, and breaks no promise"
        assert maintained(tx) == [0, 8, 16]
        end(tx, event, region_id)
        assert maintained(tx) == []


@pytest.mark.parametrize(
    ("name", "reason", "short"), [("b4", Reason.ABOVE_QUARTER, {}), ("b1", Reason.WOULD_BE_SHORT, {"plain": 1.0})]
)
def test_what_breaks_a_rule_is_refused(database: Database, name: str, reason: Reason, short: dict[str, float]) -> None:
    with database.write() as tx, pytest.raises(MaintenanceRefused) as refused:
        ask(tx, name)
    assert (refused.value.answer.reason, refused.value.answer.short_rru) == (reason, short)


def test_the_buffer_for_the_kind_carries_a_drain_until_it_is_spent(database: Database, region_id: int) -> None:
    """guard survives the loss of a block: it can spare the server in b2, but not after that in b3 was lost."""
    with database.write() as tx:
        event = ask(tx, "b2")
        assert event.state is EventState.ALLOWED
        end(tx, event, region_id)
        lose(tx, "server-15")
        with pytest.raises(MaintenanceRefused) as refused:
            ask(tx, "b2")
        assert refused.value.answer.short_rru == {"guard": 1.0}
        assert ask(tx, "b2", override="the switches burn").state is EventState.ALLOWED


def test_a_block_in_several_msbs_waits_for_all_other_maintenance_and_all_wait_for_it(
    database: Database, region_id: int
) -> None:
    with database.write() as tx:
        block = ask(tx, "b0")
        rack = ask(tx, "rack-01", scope=UnavailabilityScope.RACK)
        assert rack.answer is not None
        assert (rack.answer.reason, rack.answer.waits_for) == (Reason.OTHER_MSB, (block.unavailability_event_id,))
        other = ask(tx, "b2")
        assert again(tx, other) == (EventState.QUEUED, Reason.BEHIND)
        end(tx, block, region_id)
        assert again(tx, rack) == (EventState.ALLOWED, Reason.ALLOWED)
        assert again(tx, other) == (EventState.QUEUED, Reason.OTHER_MSB)
        answer = load_event(tx, other.unavailability_event_id).answer
        assert answer is not None
        assert answer.message.endswith("maintenance of msb-00 ends: a domain in several MSBs is drained alone")
        end(tx, rack, region_id)
        assert again(tx, other) == (EventState.ALLOWED, Reason.ALLOWED)
        assert maintained(tx) == [7, 23]


def test_a_block_in_one_msb_has_the_rules_of_that_msb(database: Database) -> None:
    with database.write() as tx:
        ask(tx, "b5")
        assert maintained(tx) == [4, 5]
        rack = ask(tx, "rack-00", scope=UnavailabilityScope.RACK)
        assert rack.answer is not None
        assert rack.answer.reason is Reason.QUARTER_IN_USE


def test_a_block_waits_while_any_of_its_msbs_is_down(database: Database, region_id: int) -> None:
    with database.write() as tx:
        failure = lose(tx, "msb-02")
        block = ask(tx, "b2")
        assert block.answer is not None
        assert block.answer.reason is Reason.MSB_DOWN
        assert block.answer.message.endswith("while an MSB is down")
        end(tx, failure, region_id)
        assert again(tx, block) == (EventState.ALLOWED, Reason.ALLOWED)


def test_retired_servers_put_no_msb_under_maintenance(database: Database, region_id: int) -> None:
    """They keep their place in the block for the record. Now the block stands in one MSB."""
    with database.write() as tx:
        gone = "decommissioned_at = now(), unavailability = 'unplanned', "
        gone += "current_reservation_id = NULL, target_reservation_id = NULL"
        tx.execute(sa.text(f"UPDATE servers SET {gone} WHERE name IN ('server-08', 'server-16')"))
        ask(tx, "b0")
        ground = load_ground(tx, region_id, UnavailabilityScope.MSB, 0, now=NOW)
        assert [event.msbs for event in ground.underway] == [{0}]
