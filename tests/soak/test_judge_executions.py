"""The judge compares what the platform says of executions with what portals and traffic really did."""

from collections.abc import Callable
from typing import Any

import pytest

from soak.judge import executions
from soak.work.executing import IMPATIENT_S
from soak.work.planned_world import RRU
from tests.soak.executions import DOWN, SHIFT, UP, Story, action, event, execution

RULES = {
    name: getattr(executions, name)
    for name in (
        "nothing_is_ordered_twice",
        "ledger_shows_what_happened",
        "orders_are_of_active_events",
        "one_execution_at_a_place",
        "capacity_comes_before_traffic",
        "executions_end_where_they_say",
    )
}


def broken(story: Story) -> set[str]:
    told = story.history()
    return {name for name, rule in RULES.items() if list(rule(told))}


def order_again(story: Story, *, after: str = "done") -> None:
    """Order the upsize a second time, after a record of the first order."""
    story.order(f"1/{UP}/2", 5.0 * RRU, "asked", "done", at=1 if after == "asked" else 2)


def other_execution(story: Story) -> None:
    """Let another execution order something about the traffic between two fractions of the shift."""
    at = [one["key"] for one in story.orders].index(f"1/{SHIFT}/2")
    story.order(f"2/{SHIFT}/1", 0.3, "asked", at=at)
    story.final["plan_executions"].append(execution(number=2))


def later(story: Story, key: str) -> None:
    """Let an order be done last of all."""
    value = next(one["value"] for one in story.orders if one["key"] == key)
    story.drop(key, "done")
    story.order(key, value, "done")


LIES: list[tuple[str, str, Callable[[Story], Any]]] = [
    ("nothing_is_ordered_twice", "it is ordered again when it was done", order_again),
    ("nothing_is_ordered_twice", "it is ordered again when it was not heard", lambda s: order_again(s, after="asked")),
    ("ledger_shows_what_happened", "a resize has succeeded early", lambda s: s.look(event(1, UP, 1.0), at=1)),
    (
        "ledger_shows_what_happened",
        "a shift was not ordered",
        lambda s: s.look(event(2, SHIFT, 0.2, status="active"), at=4),
    ),
    ("ledger_shows_what_happened", "half of a shift is a whole one", lambda s: s.look(event(2, SHIFT, 0.2), at=5)),
    ("ledger_shows_what_happened", "an action is done early", lambda s: s.look(action(UP, size=5.0), at=1)),
    ("ledger_shows_what_happened", "a shift in the end did not happen", lambda s: s.drop(f"1/{SHIFT}/2", "done")),
    (
        "orders_are_of_active_events",
        "its event was cancelled before it was active",
        lambda s: s.final["capacity_events"][0].update(history=[{"status": "proposed"}, {"status": "cancelled"}]),
    ),
    ("one_execution_at_a_place", "another execution comes between", other_execution),
    ("capacity_comes_before_traffic", "traffic comes first", lambda s: later(s, f"1/{UP}/1")),
    ("capacity_comes_before_traffic", "capacity leaves first", lambda s: later(s, f"1/{SHIFT}/2")),
    (
        "executions_end_where_they_say",
        "it still runs",
        lambda s: s.final["plan_executions"][0].update(state="running"),
    ),
    (
        "executions_end_where_they_say",
        "its event is still active",
        lambda s: s.final["capacity_events"][0].update(status="active"),
    ),
    (
        "executions_end_where_they_say",
        "a done shift went back",
        lambda s: s.order(f"1/{SHIFT}/3", 0.0, "asked", "done"),
    ),
]


def test_a_whole_execution_is_lawful() -> None:
    story = Story()
    story.look(event(1, UP, 0.0, status="active"), at=1)
    story.look(event(2, SHIFT, 0.1, status="active"), at=5)
    assert broken(story) == set()


@pytest.mark.parametrize(("rule", "lie", "spoil"), LIES, ids=[lie for _, lie, _ in LIES])
def test_a_lie_about_an_execution_is_found(rule: str, lie: str, spoil: Callable[[Story], Any]) -> None:
    story = Story()
    spoil(story)
    assert rule in broken(story), lie


def test_what_failed_may_be_ordered_again() -> None:
    story = Story()
    story.drop(f"1/{UP}/1", "done")
    story.order(f"1/{UP}/1", 5.0 * RRU, "failed", at=1)
    order_again(story)
    assert broken(story) == set()


def test_what_another_action_replaced_may_be_ordered_again() -> None:
    story = Story()
    story.drop(f"1/{UP}/1", "done")
    story.order(f"1/{UP}/1", 5.0 * RRU, "replaced", at=1, by="2/upsize/web/b/hw/1")
    order_again(story)
    assert "nothing_is_ordered_twice" not in broken(story)


def test_an_impatient_execution_may_give_a_request_up() -> None:
    story = Story()
    order_again(story, after="asked")
    story.final["plan_executions"] = [execution(action_s_max=IMPATIENT_S)]
    assert broken(story) == set()


def test_a_resize_to_what_is_there_needs_no_order() -> None:
    story = Story()
    for what in ("asked", "done"):
        story.drop(f"1/{UP}/1", what)
    story.order("9/upsize/web/b/hw/1", 5.0 * RRU, "asked", "done", at=0)
    assert broken(story) == set()


def test_traffic_may_go_back_at_any_time() -> None:
    story = Story()
    story.order(f"1/{SHIFT}/3", 0.0, "asked", "done")
    story.order(f"1/{UP}/2", 4.0 * RRU, "asked", "done")
    story.final["execution_actions"] = [action(UP, size=5.0, state="skipped"), action(SHIFT, UP, state="reversed")]
    story.final["capacity_events"] = []
    assert "capacity_comes_before_traffic" not in broken(story)


def test_capacity_by_hand_counts() -> None:
    story = Story()
    for what in ("asked", "done"):
        story.drop(f"1/{DOWN}/1", what)
    story.order(f"1/{DOWN}/0", 2.0 * RRU, "done", by="hand")
    assert broken(story) == set()
