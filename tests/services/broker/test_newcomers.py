"""Servers that an import brings into maintenance under way: they are asked for before they are taken."""

import io

import pytest
import sqlalchemy as sa

from libs.domain.approval import ApprovalLimits
from libs.domain.inventory_diff import ImportMode, diff_inventory
from libs.domain.maintenance import MaintenanceReason as Reason
from libs.domain.unavailability import EventState, UnavailabilityEvent
from libs.interchange.inventory.servers_csv import load_csv
from libs.reconcile.errors import StaleGeneration
from libs.store.capacity.approval_limits import set_approval_limits
from libs.store.fleet.import_confirm import confirm_import
from libs.store.fleet.imports import propose_import
from libs.store.fleet.inventory_snapshot import load_known_servers
from libs.store.fleet.regions import load_region
from libs.store.fleet.unavailability_events import load_event, settle_event, settle_newcomers
from libs.store.platform import audit
from libs.store.platform.database import Database, Transaction
from services.broker import ask_for_newcomers
from services.broker.ask_maintenance import ask_queue
from tests.builders.region import region_image
from tests.builders.stored import NOW, stored
from tests.services.broker.test_ask_maintenance import PLAIN, WEB, end, lose, maintained
from tests.services.broker.test_drain_domains import ask

BLOCKS = {"b0": (0, 8), "b1": (16,)}
"""b0 has servers of two MSBs."""


@pytest.fixture(autouse=True)
def region_id(database: Database) -> int:
    """Three MSBs of four racks of two servers, and the racks of the same names. web holds three racks of each, and
    plain server-06, which it cannot spare.
    """
    current = {f"server-{8 * m + i:02d}": "web" for m in range(3) for i in range(6)} | {"server-06": "plain"}
    image = region_image(
        msbs=3,
        racks_per_msb=4,
        servers_per_rack=2,
        reservations={"web": WEB, "plain": PLAIN},
        current=current,
        domains={"block": {f"server-{k:02d}": name for name, of in BLOCKS.items() for k in of}},
    )
    stored(database, image)
    with database.write() as tx:
        return load_region(tx, "west").region_id


def _row(k: int, rack: int) -> str:
    return f"server-{k:02d},dc-00,msb-{rack // 4:02d},rack-{rack:02d},hw-a"


def bring(tx: Transaction, blocks: dict[int, str] | None = None, *, racks: dict[int, int] | None = None) -> None:
    """Import a list that has these servers in other blocks, or new or known servers in these racks."""
    header = "server,datacenter,msb,rack,hardware_type" + ",domain:block" * (blocks is not None)
    rows = [header, *(_row(k, k // 2) + f",{block}" for k, block in (blocks or {}).items())]
    rows += [_row(k, rack) for k, rack in (racks or {}).items()]
    inventory = load_csv(io.BytesIO("\n".join(rows).encode()), "list.csv")
    there = load_known_servers(tx, "west")
    items = diff_inventory(there, inventory, ImportMode.MERGE)
    found = propose_import(tx, "west", there, inventory, items, mode=ImportMode.MERGE, proposed_by="olga", now=NOW)
    confirm_import(tx, "west", found.import_id, actor="olga", now=NOW)


def waits(tx: Transaction, event: UnavailabilityEvent) -> tuple[int, str, dict[str, float]] | None:
    """Return how many newcomers of an event wait, by which rule, and what reservations would lack."""
    later = load_event(tx, event.unavailability_event_id).newcomers
    return None if later is None else (later.servers, later.answer.reason.value, dict(later.answer.short_rru))


@pytest.mark.parametrize("override", [None, "the switches burn"])
def test_a_server_that_enters_a_domain_in_maintenance_is_asked_for_first(
    database: Database, region_id: int, override: str | None
) -> None:
    with database.write() as tx:
        event = ask(tx, "b0", override=override)
        assert maintained(tx) == [0, 8]
        bring(tx, {6: "b0"})
        assert maintained(tx) == [0, 8], "plain is promised server-06"
        ask_queue(tx, region_id, now=NOW)
        assert maintained(tx) == [0, 8]
        assert waits(tx, event) == (1, "WouldBeShort", {"plain": 1.0})
        assert load_event(tx, event.unavailability_event_id).state is EventState.ALLOWED, "it goes on for its own"


def test_what_the_rules_allow_is_taken_and_told(database: Database, region_id: int) -> None:
    with database.write() as tx:
        event = ask(tx, "b0")
        bring(tx, {22: "b0", 1: "b0"})
        assert ask_queue(tx, region_id, now=NOW) == 2
        assert (maintained(tx), waits(tx, event)) == ([0, 1, 8, 22], None), "one of them stands in another MSB"
        entries = audit.list_entries(
            tx, subject_kind="unavailability_event", subject_id=event.unavailability_event_id
        ).items
        after = entries[-1].after
        assert after is not None
        assert (entries[-1].action, after["newcomers"]) == ("extend", 2)
        end(tx, event, region_id)
        assert maintained(tx) == []


def test_what_waits_is_asked_again_until_it_may_join_or_leaves(database: Database, region_id: int) -> None:
    with database.write() as tx:
        event = ask(tx, "b0")
        bring(tx, {1: "b0", 2: "b0", 9: "b0"})
        ask_queue(tx, region_id, now=NOW)
        assert waits(tx, event) == (3, "QuarterInUse", {}), "two of msb-00 and another two would be three of eight"
        generation = load_event(tx, event.unavailability_event_id).generation
        assert ask_queue(tx, region_id, now=NOW) == 0
        assert load_event(tx, event.unavailability_event_id).generation == generation, "nothing is written again"
        bring(tx, {0: "b1"})
        ask_queue(tx, region_id, now=NOW)
        assert (maintained(tx), waits(tx, event)) == ([1, 2, 8, 9], None)
        bring(tx, {0: "b0", 10: "b0"})
        ask_queue(tx, region_id, now=NOW)
        assert (maintained(tx), waits(tx, event)) == ([1, 2, 8, 9], (2, "QuarterInUse", {})), "also what was in it once"
        bring(tx, {0: "b1", 10: "b1"})
        ask_queue(tx, region_id, now=NOW)
        assert waits(tx, event) is None


@pytest.mark.parametrize(
    ("scope", "name", "override"), [("rack", "rack-00", None), ("msb", "msb-00", "all"), ("datacenter", "dc-00", "all")]
)
def test_new_servers_of_a_place_in_maintenance_are_asked_for(
    database: Database, region_id: int, scope: str, name: str, override: str | None
) -> None:
    with database.write() as tx:
        event = ask(tx, name, scope=scope, override=override)
        before = maintained(tx)
        bring(tx, racks={24: 0})
        assert maintained(tx) == before
        ask_queue(tx, region_id, now=NOW)
        assert maintained(tx) == before, "two of nine are a quarter"
        later = load_event(tx, event.unavailability_event_id).newcomers
        assert later is not None
        assert later.servers == 1
        assert (later.answer.position, later.answer.begins_at) == (None, None)


def test_another_rack_of_the_msb_is_another_place_for_a_rack_only(database: Database, region_id: int) -> None:
    with database.write() as tx:
        ask(tx, "msb-00", scope="msb", override="all")
        rack = ask(tx, "rack-04", scope="rack", override="all")
        bring(tx, racks={1: 2, 11: 4})
        assert maintained(tx) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
        ask_queue(tx, region_id, now=NOW)
        assert waits(tx, rack) == (1, "OtherMsb", {})


def test_maintenance_of_a_datacenter_follows_its_servers_to_another_msb_of_it(
    database: Database, region_id: int
) -> None:
    with database.write() as tx:
        event = ask(tx, "dc-00", scope="datacenter", override="all")
        before = maintained(tx)
        bring(tx, racks={7: 4, 24: 4})
        ask_queue(tx, region_id, now=NOW)
        assert (maintained(tx), waits(tx, event)) == (before, (1, "SeveralMsbs", {}))
        moved = "SELECT racks.name FROM servers JOIN racks USING (rack_id) WHERE servers.name = 'server-07'"
        assert tx.execute(sa.text(moved)).scalar_one() == "rack-04"


def test_what_an_approval_was_not_asked_for_waits(database: Database, region_id: int) -> None:
    with database.write() as tx:
        set_approval_limits(tx, region_id, ApprovalLimits(four_eyes=True))
        lose(tx, "msb-02")
        event = ask(tx, "b0", override="the switches burn")
        assert event.state is EventState.AWAITING_APPROVAL
        bring(tx, {6: "b0"})
        settle_event(tx, event, EventState.ALLOWED, event.answer, actor="otto", now=NOW)
        ask_queue(tx, region_id, now=NOW)
        assert (maintained(tx), waits(tx, event)) == ([0, 8], (1, "MsbDown", {}))


def test_a_request_covers_what_came_while_it_waited(database: Database, region_id: int) -> None:
    with database.write() as tx:
        first, second = ask(tx, "b0"), ask(tx, "b1")
        bring(tx, {17: "b1"})
        ask_queue(tx, region_id, now=NOW)
        end(tx, first, region_id)
        assert (maintained(tx), waits(tx, second)) == ([16, 17], None)


def test_newcomers_wait_for_other_maintenance_and_behind_earlier_ones(database: Database, region_id: int) -> None:
    with database.write() as tx:
        one = ask(tx, "rack-00", scope="rack")
        two = ask(tx, "rack-04", scope="rack", override="all")
        bring(tx, racks={24: 0, 25: 4})
        ask_queue(tx, region_id, now=NOW)
        assert waits(tx, one) == (1, "OtherMsb", {})
        assert waits(tx, two) == (1, "Behind", {})
        waiting = ask(tx, "rack-01", scope="rack")
        assert waiting.answer is not None
        assert waiting.answer.reason is Reason.OTHER_MSB, "newcomers hold no place in the queue"
        end(tx, two, region_id)
        assert waits(tx, one) == (1, "QuarterInUse", {})
        assert waits(tx, two) is None


def test_newcomers_that_are_refused_do_not_block_those_of_later_events(database: Database, region_id: int) -> None:
    with database.write() as tx:
        refused = ask(tx, "rack-00", scope="rack")
        later = ask(tx, "rack-01", scope="rack", override="all")
        bring(tx, racks=dict.fromkeys((24, 25, 26), 0))
        ask_queue(tx, region_id, now=NOW)
        assert waits(tx, refused) == (3, "AboveQuarter", {})
        more = dict.fromkeys(range(30, 39), 3)
        bring(tx, racks={**more, 27: 1})
        ask_queue(tx, region_id, now=NOW)
        assert waits(tx, refused) == (3, "QuarterInUse", {})
        assert (waits(tx, later), 27 in maintained(tx)) == ((1, "Behind", {}), False)
        bring(tx, racks=dict.fromkeys((28, 29, 39, 40, 41), 0))
        ask_queue(tx, region_id, now=NOW)
        assert waits(tx, refused) == (8, "AboveQuarter", {})
        assert (waits(tx, later), 27 in maintained(tx)) == (None, True)


def test_newcomers_that_are_in_other_maintenance_wait_for_none(database: Database, region_id: int) -> None:
    with database.write() as tx:
        first = ask(tx, "rack-00", scope="rack")
        second = ask(tx, "rack-04", scope="rack", override="all")
        bring(tx, racks={24: 0, 25: 4})
        ask(tx, "server-25", scope="server", override="now")
        ask_queue(tx, region_id, now=NOW)
        assert waits(tx, first) == (1, "OtherMsb", {})
        assert waits(tx, second) is None, "and no event tells of 0 servers that came later"


def test_a_run_reads_the_fleet_for_few_refused_newcomers(
    database: Database, region_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask_for_newcomers, "LEFT_OUT_MAX", 1)
    with database.write() as tx:
        refused = ask(tx, "rack-00", scope="rack")
        later = ask(tx, "rack-04", scope="rack", override="all")
        bring(tx, racks={**dict.fromkeys(range(24, 29), 0), 30: 4})
        ask_queue(tx, region_id, now=NOW)
        assert (waits(tx, refused), waits(tx, later)) == ((5, "AboveQuarter", {}), (1, "Behind", {}))


def test_newcomers_wait_while_an_msb_is_down(database: Database, region_id: int) -> None:
    with database.write() as tx:
        event = ask(tx, "b0")
        failure = lose(tx, "msb-02")
        bring(tx, {1: "b0"})
        ask_queue(tx, region_id, now=NOW)
        assert (maintained(tx), waits(tx, event)) == ([0, 8], (1, "MsbDown", {}))
        end(tx, failure, region_id)
        assert (maintained(tx), waits(tx, event)) == ([0, 1, 8], None)


def test_a_failure_takes_all_servers_of_its_domain(database: Database) -> None:
    with database.write() as tx:
        ask(tx, "b0")
        lose(tx, "rack-03")
        bring(tx, racks={24: 3})
        down = "SELECT right(name, 2)::int FROM servers WHERE unavailability = 'unplanned' ORDER BY 1"
        assert list(tx.execute(sa.text(down)).scalars()) == [6, 7, 24]


def test_a_killed_worker_leaves_the_newcomers_to_the_next(database: Database, region_id: int) -> None:
    """Asking and taking are one transaction. An answer that another worker gave meanwhile is not overwritten."""
    with database.write() as tx:
        event = ask(tx, "b0")
        bring(tx, {1: "b0"})
    with database.write() as tx:
        assert ask_queue(tx, region_id, now=NOW) == 1
        tx.rollback()
    with database.write() as tx:
        assert (maintained(tx), waits(tx, event)) == ([0, 8], None)
        stale = load_event(tx, event.unavailability_event_id)
        assert ask_queue(tx, region_id, now=NOW) == 1
        assert maintained(tx) == [0, 1, 8]
        with pytest.raises(StaleGeneration):
            settle_newcomers(tx, stale, None, covers=True, actor="olga", now=NOW)
