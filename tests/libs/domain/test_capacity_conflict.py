"""Proposals that contradict live events, or take more than there is, are found."""

import pytest

from libs.domain.capacity_conflict import ConflictKind, find_conflicts
from libs.domain.capacity_event import EventStatus, Writer
from tests.builders.ledger import event, resize, shift

HERE = ("web", "east", "compute")


def conflicts(proposals, live=(), capacity=None, author="max"):
    found = find_conflicts(proposals, author, live, capacity or {})
    return [(c.kind.value, c.proposal, [e.capacity_event_id for e in c.with_]) for c in found]


def test_opposite_directions_conflict_and_the_same_does_not():
    live = [event(resize(-5.0), event_id=7)]
    assert conflicts([resize(3.0), resize(-3.0)], live) == [("opposite", 0, [7])]


@pytest.mark.parametrize("elsewhere", [{"service": "api"}, {"region": "west"}, {"hardware_type": "ssd"}])
def test_another_place_is_no_conflict(elsewhere):
    assert conflicts([resize(3.0, **elsewhere)], [event(resize(-5.0))]) == []


def test_a_shift_back_conflicts_with_the_shift():
    live = [event(shift(0.1, from_region="east", to_region="west"), event_id=4)]
    back = shift(0.1, from_region="west", to_region="east")
    assert conflicts([back, shift(0.2), shift(0.1, product="feed")], live) == [("opposite", 0, [4])]


def test_a_writer_does_not_conflict_with_its_own_plan():
    flux = {"writer": Writer.FLUX, "placement_plan_id": 3}
    live = [event(resize(-5.0, **flux), author="planner")]
    assert conflicts([resize(5.0, **flux)], live, author="planner") == []
    other = resize(5.0, writer=Writer.FLUX, placement_plan_id=4)
    assert conflicts([other], live, author="planner") == [("opposite", 0, [1])]
    assert conflicts([resize(5.0, **flux)], live, author="another") == [("opposite", 0, [1])]


def test_together_events_may_not_take_more_than_there_is():
    live = [event(resize(-6.0, day=1), event_id=5)]
    assert conflicts([resize(-4.0)], live, {HERE: 10.0}) == []
    assert conflicts([resize(-4.5)], live, {HERE: 10.0}) == [("below_zero", 0, [5])]
    assert conflicts([resize(-4.5)], live) == []  # the capacity is not known
    found = find_conflicts([resize(-4.5)], "max", live, {HERE: 10.0})
    assert found[0].kind is ConflictKind.BELOW_ZERO
    assert found[0].lacking == pytest.approx(0.5)


def test_what_comes_later_does_not_help_before():
    later = [event(resize(5.0, day=2), author="max")]
    assert conflicts([resize(-12.0, day=1)], later, {HERE: 10.0}) == [("below_zero", 0, [])]
    assert conflicts([resize(-12.0, day=2)], later, {HERE: 10.0}) == []


def test_only_what_is_left_of_a_running_event_counts():
    live = [event(resize(-6.0), status=EventStatus.ACTIVE, achieved=-5.0)]
    assert conflicts([resize(-4.0)], live, {HERE: 5.0}) == []


def test_an_addition_is_not_blamed_for_what_others_take():
    live = [event(resize(-20.0), author="max")]
    assert conflicts([resize(5.0)], live, {HERE: 10.0}) == []
