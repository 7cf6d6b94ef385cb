"""Test that no action begins in a freeze, and that nothing is offered that a freeze refuses."""

from datetime import UTC, datetime, timedelta

import pytest

from libs.domain.freeze import Calendar, Freeze, FreezeScope
from libs.domain.plan_execution import ActionState, ExecutionState, Verb
from libs.flux.execution.commands import possible_verbs
from libs.flux.execution.freezes import frozen_actions
from tests.builders.execution import Execution, two_products

SHOP, FEED = "shift/shop/east/west", "shift/feed/north/east"
FRONT = "upsize/shop-front/west/compute"


def freeze(
    run: Execution,
    scope: FreezeScope = FreezeScope.ALL,
    name: str | None = None,
    *,
    number: int = 1,
    hours: float = 10.0,
) -> Freeze:
    now = datetime.fromtimestamp(run.now_s, UTC)
    return Freeze(
        freeze_id=number,
        scope=scope,
        name=name,
        starts_at=now,
        ends_at=now + timedelta(hours=hours),
        reason="the sale",
        created_by="olga",
        created_at=now,
        ended_at=None,
        ended_by=None,
        generation=1,
    )


def started(*scopes: tuple[FreezeScope, str | None], hours: float = 10.0) -> Execution:
    run = Execution(two_products())
    run.command(Verb.START)
    run.calendar = Calendar(freezes=tuple(freeze(run, *one, number=n, hours=hours) for n, one in enumerate(scopes, 1)))
    return run


def begun(run: Execution) -> set[str]:
    return {a.action for i, a in enumerate(run.graph.actions) if run.progress.row(i).attempt > 0}


def test_nothing_begins_in_a_freeze_of_all_and_all_does_after_it():
    run = started((FreezeScope.ALL, None), hours=2)
    run.run(100)
    assert begun(run) == set()
    assert run.run(400) is ExecutionState.DONE


@pytest.mark.parametrize(
    ("scope", "name", "held"),
    [
        (FreezeScope.REGION, "west", lambda a: "west" in (a.region, a.to_region)),
        (FreezeScope.SERVICE, "store", lambda a: a.service == "store"),
        (FreezeScope.PRODUCT, "feed", lambda a: a.product == "feed"),
    ],
)
def test_a_freeze_holds_its_scope_and_what_needs_it(scope, name, held):
    run = started((scope, name), hours=500)
    run.run(100)
    names = {a.action for a in run.graph.actions if held(a)}
    assert names
    assert not begun(run) & names
    assert {a for a, state in run.states().items() if state is ActionState.DONE}


def test_a_shift_stays_at_its_fraction_and_can_still_go_back():
    run = started()
    while run.of(SHOP).reached < 0.25:
        run.tick()
    run.calendar = Calendar(freezes=(freeze(run, FreezeScope.PRODUCT, "shop"),))
    run.run(100)
    assert (run.of(SHOP).state, run.of(SHOP).reached) == (ActionState.BAKING, 0.25)
    assert run.command(Verb.REVERSE, SHOP).refusal is None
    run.run(2)
    assert run.of(SHOP).state is ActionState.REVERSED


def test_a_request_in_flight_comes_to_its_end():
    run = started()
    run.say = lambda action, row: None  # not reached before the freeze
    run.answer = lambda position: None
    run.tick()
    assert run.of(FRONT).state is ActionState.RUNNING
    run.calendar = Calendar(freezes=(freeze(run),))
    del run.answer
    run.say = Execution(two_products()).say
    run.tick()
    assert run.of(FRONT).state is ActionState.DONE


def test_commands_that_would_begin_something_are_refused_until_the_freeze_is_overridden():
    run = started((FreezeScope.SERVICE, "store"), (FreezeScope.ALL, None))
    row = run.command(Verb.PAUSE, FRONT)
    assert row.refusal is None
    assert run.command(Verb.RESUME, FRONT).refusal.code == "Frozen"
    position = [a.action for a in run.graph.actions].index(FRONT)
    assert run.command(Verb.OVERRIDE_FREEZE, FRONT).overrides == ((2, position),)
    assert run.command(Verb.RESUME, FRONT).refusal is None
    run.tick()
    assert begun(run) == {FRONT}
    assert run.of(FRONT).person
    assert run.command(Verb.OVERRIDE_FREEZE, FRONT).refusal.code in ("NotFrozen", "Final")


def test_a_plan_that_cannot_begin_is_not_offered_to_start_or_resume():
    run = Execution(two_products())
    run.calendar = Calendar(freezes=(freeze(run),))
    assert run.command(Verb.START).refusal.code == "Frozen"
    plan = frozen_actions(run.graph, run.progress, run.calendar, run.now_s).plan
    assert set(possible_verbs(run.state, plan)) == {Verb.ABORT, Verb.SUPERSEDE, Verb.OVERRIDE_FREEZE}
    assert run.command(Verb.OVERRIDE_FREEZE).overrides == ((1, None),)
    assert run.command(Verb.START).refusal is None
    assert run.run() is ExecutionState.DONE


def test_to_take_everything_back_needs_an_override_too():
    run = started()
    while run.of(SHOP).reached < 0.25:
        run.tick()
    run.calendar = Calendar(freezes=(freeze(run),))
    assert run.command(Verb.REVERSE).refusal.code == "Frozen"
    run.command(Verb.OVERRIDE_FREEZE)
    assert run.command(Verb.REVERSE).refusal is None


def test_an_action_names_the_freezes_that_hold_it_and_no_others():
    regions = [(FreezeScope.REGION, name) for name in ("west", "north")]
    run = started((FreezeScope.SERVICE, "shop-front"), *regions, (FreezeScope.ALL, None))
    position = [a.action for a in run.graph.actions].index(FRONT)
    run.calendar = Calendar(freezes=run.calendar.freezes, overrides=frozenset({(2, position)}))
    found = frozen_actions(run.graph, run.progress, run.calendar, run.now_s)
    assert {one.freeze_id for one in found.freezes_of(run.graph, position)} == {1, 4}
    assert found.held[position]
    alone = Calendar(freezes=run.calendar.freezes[1:2], overrides=run.calendar.overrides)
    found = frozen_actions(run.graph, run.progress, alone, run.now_s)
    assert found.freezes_of(run.graph, position) == ()
    assert found.held.sum() > 0
    assert not found.held[position]
