"""The ledger on a real database: proposals, compare-and-swap, antecedents, history, combined effect."""

from dataclasses import fields
from datetime import timedelta
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from libs.domain.capacity_event import EventChange, EventStatus, Writer
from libs.reconcile.errors import StaleGeneration
from libs.store.ledger.changes import RefusedChange, change_events
from libs.store.ledger.effects import combined_effect
from libs.store.ledger.events import EventFilter, load_event, load_events, load_events_by_id, load_history
from libs.store.ledger.proposals import ConflictingEvents, propose_events
from libs.store.platform.audit import list_entries
from libs.store.platform.refusals import NotFound, NotPossible
from libs.store.tables import capacity_event_antecedents
from tests.builders.ledger import DUE, resize, shift
from tests.libs.store.conftest import NOW

S = EventStatus


def propose(database, *proposals, actor="olga", **given):
    with database.write() as tx:
        return propose_events(tx, proposals, actor=actor, now=NOW, **given).tolist()


def change(database, event_id, *statuses, achieved=None, actor="olga", reason=None, now=NOW):
    """Lead an event through statuses, from its present one."""
    for status in statuses:
        with database.write() as tx:
            found = load_event(tx, event_id)
            of = achieved if found.status is S.ACTIVE else None
            one = EventChange(
                capacity_event_id=event_id, generation=found.generation, status=status, achieved=of, reason=reason
            )
            change_events(tx, [one], actor=actor, now=now)


def effect(database, **given):
    with database.snapshot() as tx:
        found = combined_effect(tx, **{"at": DUE} | given)
    return SimpleNamespace(capacity=rows(found.capacity), traffic=rows(found.traffic))


def rows(effects):
    """Return effects, which are arrays, one by one."""
    names = [one.name for one in fields(effects) if one.name != "sums"]
    sums = {name: getattr(effects.sums, name) for name in ("done", "active", "approved", "proposed", "planned")}
    return [
        SimpleNamespace(
            **{name: getattr(effects, name)[i] for name in names},
            sums=SimpleNamespace(**{name: column[i] for name, column in sums.items()}),
        )
        for i in range(len(effects.region))
    ]


def test_a_proposal_is_read_as_it_was_made(database):
    proposals = (
        resize(10.0, writer=Writer.FLUX, placement_plan_id=3, action="up web east", lead_time_h=4.0),
        shift(0.25, follows=(0,)),
    )
    first, second = propose(database, *proposals)
    with database.snapshot() as tx:
        found = load_events_by_id(tx, [first, second, 999])
        history = load_history(tx, second)
        audited = list_entries(tx, subject_kind="capacity_event").items
    assert {key: event.effect for key, event in found.items()} == {
        first: proposals[0].effect,
        second: proposals[1].effect,
    }
    assert found[second].antecedents == (first,)
    event = found[first]
    assert (event.writer, event.author, event.status, event.generation) == (Writer.FLUX, "olga", S.PROPOSED, 1)
    assert (event.placement_plan_id, event.action, event.lead_time_h) == (3, "up web east", 4.0)
    assert [(one.generation, one.status, one.changed_by) for one in history] == [(1, S.PROPOSED, "olga")]
    assert [(e.action, e.subject_id) for e in audited] == [("propose", first), ("propose", second)]


def test_a_change_compares_and_swaps(database):
    (event_id,) = propose(database, resize())
    approve = EventChange(capacity_event_id=event_id, generation=1, status=S.APPROVED)
    with database.write() as tx:
        change_events(tx, [approve], actor="max", now=NOW)
    with pytest.raises(StaleGeneration), database.write() as tx:
        change_events(tx, [approve], actor="max", now=NOW)
    with database.snapshot() as tx:
        assert (load_event(tx, event_id).status, load_event(tx, event_id).generation) == (S.APPROVED, 2)


def test_the_status_is_always_the_last_change(database):
    """Every event repeats the last row of its history."""
    ways = [
        (S.APPROVED, S.ACTIVE, S.ACTIVE, S.SUCCEEDED),
        (S.APPROVED, S.ACTIVE, S.FAILED),
        (S.APPROVED, S.ACTIVE, S.CANCELLED),
        (S.APPROVED, S.SUPERSEDED),
        (S.CANCELLED,),
        (),
    ]
    ids = propose(database, *(resize(service=f"s{n}") for n in range(len(ways))))
    for event_id, way in zip(ids, ways, strict=True):
        change(database, event_id, *way, achieved=4.0)
    with database.snapshot() as tx:
        for event in load_events(tx).items:
            last = load_history(tx, event.capacity_event_id)[-1]
            assert (last.status, last.achieved, last.generation) == (event.status, event.achieved, event.generation)
        assert load_event(tx, ids[0]).generation == 5


def test_all_changes_or_none(database):
    first, second = propose(database, resize(), resize(service="api"))
    changes = [
        EventChange(capacity_event_id=first, generation=1, status=S.APPROVED),
        EventChange(capacity_event_id=second, generation=1, status=S.SUCCEEDED, achieved=1.0),
    ]
    refused = f"{second} is proposed, so it cannot become succeeded"
    with pytest.raises(RefusedChange, match=refused), database.write() as tx:
        change_events(tx, changes, actor="max", now=NOW)
    with database.snapshot() as tx:
        assert load_event(tx, first).status is S.PROPOSED
    with pytest.raises(NotPossible, match="twice"), database.write() as tx:
        change_events(tx, [changes[0], changes[0]], actor="max", now=NOW)
    unknown = EventChange(capacity_event_id=999, generation=1, status=S.APPROVED)
    with pytest.raises(NotFound), database.write() as tx:
        change_events(tx, [unknown], actor="max", now=NOW)


def test_an_event_becomes_active_after_its_antecedents_succeeded(database):
    up, shifted = propose(database, resize(), shift(follows=(0,)))
    change(database, up, S.APPROVED, S.ACTIVE)
    change(database, shifted, S.APPROVED)
    with pytest.raises(RefusedChange, match=f"its antecedent {up} is active"):
        change(database, shifted, S.ACTIVE)
    with database.write() as tx:  # the report and what it allows, in one transaction
        changes = [
            EventChange(capacity_event_id=shifted, generation=2, status=S.ACTIVE),
            EventChange(capacity_event_id=up, generation=3, status=S.SUCCEEDED, achieved=10.0),
        ]
        change_events(tx, changes, actor="max", now=NOW)
    with database.snapshot() as tx:
        assert load_event(tx, shifted).status is S.ACTIVE


def test_antecedents_exist_and_may_still_succeed(database):
    with pytest.raises(NotFound):
        propose(database, resize(antecedents=(1,)))
    with pytest.raises(NotPossible, match="item 0 may follow only earlier items, not item 0"):
        propose(database, resize(follows=(0,)))
    (event_id,) = propose(database, resize())
    change(database, event_id, S.CANCELLED)
    with pytest.raises(NotPossible, match="is cancelled, so it can never succeed"):
        propose(database, resize(antecedents=(event_id,)))


def test_a_plan_has_one_live_event_per_action_and_place(database):
    action = {"writer": Writer.FLUX, "placement_plan_id": 3, "action": "up web east"}
    (event_id,) = propose(database, resize(**action))
    with pytest.raises(NotPossible, match=f"event {event_id} does it already"):
        propose(database, resize(**action))
    propose(database, resize(region="west", **action))
    change(database, event_id, S.CANCELLED)
    propose(database, resize(**action))


def test_a_contradiction_names_the_events_and_may_be_meant(database):
    (event_id,) = propose(database, resize(-5.0), actor="max")
    with pytest.raises(ConflictingEvents) as refused:
        propose(database, resize(5.0))
    assert [e.capacity_event_id for c in refused.value.conflicts for e in c.with_] == [event_id]
    (second,) = propose(database, resize(5.0), despite=[event_id], despite_reason="the launch is first")
    with database.snapshot() as tx:
        entry = list_entries(tx, subject_kind="capacity_event", subject_id=second).items[0]
    assert (entry.reason, entry.after["despite"]) == ("the launch is first", [event_id])
    change(database, event_id, S.CANCELLED)
    change(database, second, S.CANCELLED)
    propose(database, resize(-1.0))  # what is not live contradicts nothing


def test_a_shift_back_is_found_whatever_its_direction(database):
    propose(database, shift(0.1, from_region="west", to_region="east"), actor="max")
    with pytest.raises(ConflictingEvents):
        propose(database, shift(0.1, from_region="east", to_region="west"))


def test_events_do_not_take_more_than_there_is(database):
    held = {("web", "east", "compute"): 10.0}
    propose(database, resize(-6.0), capacity=held)
    with pytest.raises(ConflictingEvents):
        propose(database, resize(-6.0), capacity=held)
    with pytest.raises(ConflictingEvents):  # nothing that others do makes that possible
        propose(database, resize(-11.0, region="west"), capacity={("web", "west", "compute"): 10.0}, despite=[1])


@pytest.mark.parametrize("table", ["capacity_events", "capacity_event_changes", "capacity_event_antecedents"])
@pytest.mark.parametrize(
    "statement", ["UPDATE {0} SET capacity_event_id = 5", "DELETE FROM {0}", "TRUNCATE {0} CASCADE"]
)
def test_the_ledger_is_not_rewritten(database, table, statement):
    propose(database, resize(), shift(follows=(0,)))
    with pytest.raises(sa.exc.DBAPIError, match=r"append-only|can only be updated to DEFAULT"), database.write() as tx:
        tx.execute(sa.text(statement.format(table)))


def test_the_amount_of_an_event_is_fixed(database):
    propose(database, resize())
    with pytest.raises(sa.exc.IntegrityError, match="append-only"), database.write() as tx:
        tx.execute(sa.text("UPDATE capacity_events SET amount = 1"))


def test_pages_and_filters(database):
    ids = propose(
        database,
        resize(1.0),
        resize(2.0, service="api", region="west", day=3),
        shift(0.1),
        resize(3.0, writer=Writer.FLUX, placement_plan_id=8),
    )
    change(database, ids[0], S.CANCELLED)
    cases = {
        (): ids,
        (("service", "web"),): [ids[0], ids[3]],
        (("region", "west"),): [ids[1], ids[2]],
        (("product", "shop"),): [ids[2]],
        (("placement_plan_id", 8),): [ids[3]],
        (("writer", Writer.FLUX),): [ids[3]],
        (("statuses", (S.PROPOSED,)),): ids[1:],
        (("due_before", DUE + timedelta(1)), ("hardware_type", "compute")): [ids[0], ids[3]],
    }
    with database.snapshot() as tx:
        for given, expected in cases.items():
            found = load_events(tx, EventFilter(**dict(given)))
            assert [event.capacity_event_id for event in found.items] == expected
        page = load_events(tx, after=ids[0], limit=2)
    assert [event.capacity_event_id for event in page.items] == ids[1:3]
    assert page.next_cursor == ids[2]


def test_the_combined_effect_counts_each_amount_once(database):
    done, running, approved, _, gone, _ = propose(
        database, *(resize(delta, service="web") for delta in (10.0, 8.0, 4.0, 2.0, 100.0)), resize(1.0, day=1)
    )
    change(database, done, S.APPROVED, S.ACTIVE, S.SUCCEEDED, achieved=9.0)
    change(database, running, S.APPROVED, S.ACTIVE, S.ACTIVE, achieved=3.0)
    change(database, approved, S.APPROVED)
    change(database, gone, S.CANCELLED)
    (found,) = effect(database, service="web").capacity
    sums = found.sums
    assert (sums.done, sums.active, sums.approved, sums.proposed) == (12.0, 5.0, 4.0, 2.0)
    assert sums.planned == 11.0
    assert effect(database, service="web", at=DUE + timedelta(1)).capacity[0].sums.proposed == 3.0
    assert effect(database, service="web", since=NOW).capacity[0].sums.done == 0.0
    assert effect(database, service="web", at=NOW - timedelta(1)).capacity[0].sums.done == 0.0


def test_a_failed_event_counts_what_it_did(database):
    (event_id,) = propose(database, resize(-10.0))
    change(database, event_id, S.APPROVED, S.ACTIVE, S.FAILED, achieved=-2.0)
    sums = effect(database, region="east").capacity[0].sums
    assert (sums.done, sums.planned) == (-2.0, 0.0)


def test_shifts_cancel_over_the_regions(database):
    first, _ = propose(database, shift(0.1), shift(0.05, to_region="north"))
    change(database, first, S.APPROVED, S.ACTIVE, S.ACTIVE, achieved=0.025)
    found = {one.region: one.sums for one in effect(database, product="shop").traffic}
    assert {region: sums.done for region, sums in found.items()} == {"east": -0.025, "north": 0.0, "west": 0.025}
    assert found["west"].active == pytest.approx(0.075)
    assert found["east"].proposed == -0.05
    assert sum(sums.planned for sums in found.values()) == pytest.approx(0.0)


@pytest.mark.parametrize("unknown", ["capacity_event_id", "antecedent_id"])
def test_the_database_refuses_an_antecedent_that_names_an_unknown_event(unknown, database):
    (known,) = propose(database, resize(1.0))
    pair = {"capacity_event_id": known + 7, "antecedent_id": known}
    if unknown == "antecedent_id":
        pair = {"capacity_event_id": known, "antecedent_id": known - 1}
    write, said = sa.insert(capacity_event_antecedents).values(pair), f"there is no capacity event {pair[unknown]}"
    with pytest.raises(sa.exc.IntegrityError, match=said), database.write() as tx:
        tx.execute(write)


def test_filters_of_the_combined_effect(database):
    propose(database, resize(1.0), resize(1.0, hardware_type="ssd"), resize(1.0, service="api", region="west"), shift())

    def names(**given):
        found = effect(database, **given)
        places = [(one.service, one.region, one.hardware_type) for one in found.capacity]
        return places, [(one.product, one.region) for one in found.traffic]

    web = [("web", "east", "compute"), ("web", "east", "ssd")]
    both = [("shop", "east"), ("shop", "west")]
    assert names() == ([("api", "west", "compute"), *web], both)
    assert names(service="web") == (web, [])
    assert names(product="shop") == ([], both)
    assert names(region="east") == (web, [("shop", "east")])
    assert names(service="web", hardware_type="ssd", product="shop") == ([("web", "east", "ssd")], both)


def test_only_the_part_that_happened_between_two_moments_is_done(database):
    """An event that was at work before and after a moment counts with each part on its own side."""
    web, moved = propose(database, resize(10.0, service="web"), shift(0.4, product="shop"))
    day = timedelta(1)
    for event_id, first, last in ((web, 4.0, 9.0), (moved, 0.1, 0.4)):
        change(database, event_id, S.APPROVED, S.ACTIVE, S.ACTIVE, achieved=first)
        change(database, event_id, S.SUCCEEDED, achieved=last, now=NOW + 2 * day)

    def done(**moments):
        found = effect(database, **moments)
        return found.capacity[0].sums.done, {one.region: pytest.approx(one.sums.done) for one in found.traffic}

    assert done() == (9.0, {"east": -0.4, "west": 0.4})
    assert done(at=NOW + day) == (4.0, {"east": -0.1, "west": 0.1})
    assert done(since=NOW + day) == (5.0, {"east": -0.3, "west": 0.3})
    assert done(since=NOW + 2 * day)[0] == 0.0
