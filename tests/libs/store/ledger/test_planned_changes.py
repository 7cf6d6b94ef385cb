"""Plans take live events as given, each from the step in which it is due."""

from datetime import timedelta

from libs.domain.capacity_event import EventStatus, Writer
from libs.store.ledger.planned_changes import load_planned_changes
from tests.builders.ledger import DUE, resize, shift
from tests.libs.store.conftest import NOW
from tests.libs.store.ledger.test_ledger import change, propose

S = EventStatus
ENDS = [DUE + timedelta(7), DUE + timedelta(14)]


def planned(database, since=NOW):
    with database.snapshot() as tx:
        deltas, shifts = load_planned_changes(tx, since=since, ends=ENDS)
    return [(one.step, one.service, one.delta) for one in deltas], [(one.step, one.share) for one in shifts]


def test_each_event_counts_in_its_step(database):
    propose(database, *(resize(n, service=f"s{n}", day=day) for n, day in ((1, -3), (2, 6), (3, 7), (4, 13), (5, 14))))
    propose(database, shift(0.1), shift(0.2, day=8))
    assert planned(database) == ([(0, "s1", 1.0), (0, "s2", 2.0), (1, "s3", 3.0), (1, "s4", 4.0)], [(0, 0.1), (1, 0.2)])


def test_a_plan_counts_only_the_part_of_an_event_that_is_left(database):
    running, cancelled, done = propose(database, *(resize(10.0, service=name) for name in ("run", "cancelled", "done")))
    change(database, running, S.APPROVED, S.ACTIVE, S.ACTIVE, achieved=4.0)
    change(database, cancelled, S.CANCELLED)
    change(database, done, S.APPROVED, S.ACTIVE, S.SUCCEEDED, achieved=9.0)
    assert planned(database) == ([(0, "run", 6.0)], [])
    before = NOW - timedelta(1)  # the measurements do not show what happened since
    assert planned(database, since=before) == ([(0, "done", 9.0), (0, "run", 10.0)], [])


def test_measurements_show_the_first_part_of_a_change_that_they_are_in_the_middle_of(database):
    """A median over a window shows what happened in its first half, and so only the second part is added."""
    [running] = propose(database, resize(10.0, service="run"))
    change(database, running, S.APPROVED, S.ACTIVE, S.ACTIVE, achieved=4.0)
    change(database, running, S.SUCCEEDED, achieved=9.0, now=NOW + timedelta(2))
    assert planned(database, since=NOW + timedelta(1)) == ([(0, "run", 5.0)], [])


def test_a_plan_does_not_build_on_the_proposals_of_the_plan_before(database):
    flux = {"writer": Writer.FLUX, "placement_plan_id": 1}
    first, second = propose(database, resize(1.0, **flux), resize(2.0, service="api", **flux))
    change(database, second, S.APPROVED)
    assert planned(database) == ([(0, "api", 2.0)], [])
    assert first < second
